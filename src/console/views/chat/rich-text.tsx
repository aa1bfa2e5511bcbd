import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { Code } from '../../components/copy.tsx';
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
      <div class="stack rich" dir="auto">
        {blocksOf(text).map(renderer(partOf))}
      </div>
    ),
    [text, partOf],
  );
}

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
        return <TextTable key={index} label={named('table')} {...one} />;
    }
  };
  return render;
}

function isPlain(item: readonly Block[]): item is [Block & { type: 'paragraph' }] {
  return item.length === 1 && item[0]!.type === 'paragraph';
}

interface TextTableProps extends Extract<Block, { type: 'table' }> {
  readonly label: string;
}

function TextTable({ label, head, rows }: TextTableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by arrow keys
    <section class="table" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {head.map((cell, at) => (
              <th key={at} scope="col">
                {cell.map(inline)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {row.map((cell, column) => (
                <td key={column}>{cell.map(inline)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
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
