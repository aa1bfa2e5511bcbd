import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { Code } from '../../components/copy.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { type Block, blocksOf, type Inline } from './markdown.ts';

interface RichTextProps {
  readonly text: string;
  /** What the text is part of, for the names of its parts: `answer 2`. */
  readonly partOf: string;
}

/** Text of a model as Markdown. Nothing of it becomes markup, and links open in another tab. */
export function RichText({ text, partOf }: RichTextProps) {
  return useMemo(
    () => (
      <div class="stack gap-l anywhere rich" dir="auto">
        {blocksOf(text).map(renderer(partOf))}
      </div>
    ),
    [text, partOf],
  );
}

type TextRow = Extract<Block, { type: 'table' }>['rows'][number];

/** Renders blocks, and numbers those that screen readers list. */
function renderer(partOf: string) {
  let number = 0;
  const named = (name: string) => `${name}, part ${++number} of ${partOf}`;
  const render = (one: Block, index: number): ComponentChildren => {
    switch (one.type) {
      case 'paragraph':
        return (
          <p key={index} dir="auto">
            {one.content.map(inline)}
          </p>
        );
      case 'heading':
        return (
          <h3 key={index} dir="auto">
            {one.content.map(inline)}
          </h3>
        );
      case 'code':
        return <Code key={index} label={named(one.language || 'code')} text={one.text} />;
      case 'quote':
        return <blockquote key={index}>{one.content.map(render)}</blockquote>;
      case 'rule':
        return <hr key={index} />;
      case 'list': {
        const items = one.items.map((item, at) => (
          <li key={at} dir="auto">
            {isPlain(item) ? item[0]!.content.map(inline) : item.map(render)}
          </li>
        ));
        if (one.start === null) return <ul key={index}>{items}</ul>;
        return (
          <ol key={index} start={one.start}>
            {items}
          </ol>
        );
      }
      case 'table':
        return (
          <Table
            key={index}
            caption={named('table')}
            namesRows={false}
            isText
            columns={one.head.map(
              (head, at): Column<TextRow> => [head.map(inline), (row) => row[at]!.map(inline)],
            )}
            rows={one.rows}
            keyOf={(_, index) => index}
          />
        );
    }
  };
  return render;
}

function isPlain(item: readonly Block[]): item is [Block & { type: 'paragraph' }] {
  return item.length === 1 && item[0]!.type === 'paragraph';
}

function inline(one: Inline, index: number): ComponentChildren {
  if (typeof one === 'string') return one;
  switch (one.type) {
    case 'code':
      return <code key={index}>{one.text}</code>;
    case 'strong':
      return <strong key={index}>{one.content.map(inline)}</strong>;
    case 'em':
      return <em key={index}>{one.content.map(inline)}</em>;
    case 'link':
      return (
        <a key={index} href={one.href} target="_blank" rel="noopener noreferrer">
          {one.content.map(inline)}
        </a>
      );
  }
}
