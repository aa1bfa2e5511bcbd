/** A small Markdown, read in time linear to the text, since answers are read again on each piece. */

export type Inline =
  | string
  | { readonly type: 'code'; readonly text: string }
  | { readonly type: 'strong' | 'em'; readonly content: readonly Inline[] }
  | { readonly type: 'link'; readonly href: string; readonly content: readonly Inline[] };

export type Block =
  | { readonly type: 'paragraph' | 'heading'; readonly content: readonly Inline[] }
  | { readonly type: 'code'; readonly language: string; readonly text: string }
  | { readonly type: 'quote'; readonly content: readonly Block[] }
  | {
      readonly type: 'list';
      /** Number of the first item; null for bullets. */
      readonly start: number | null;
      readonly items: readonly (readonly Block[])[];
    }
  | {
      readonly type: 'table';
      readonly head: readonly (readonly Inline[])[];
      readonly rows: readonly (readonly (readonly Inline[])[])[];
    }
  | { readonly type: 'rule' };

/** Lists and quotes within each other; deeper ones are paragraphs. */
const DEPTH = 8;

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)/;
const HEADING = /^ {0,3}#{1,6}\s+(.*)$/;
const RULE = /^ {0,3}(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(\s+|$)/;
const DELIMITER = /^ {0,3}\|?(?:\s*:?-+:?\s*\|)+(?:\s*:?-+:?\s*)?$/;

export function blocksOf(text: string): readonly Block[] {
  return parse(withoutTabs(text.replace(/\r\n?/g, '\n').split('\n')), 0);
}

/** Tabs that indent become spaces, except in code, which people copy. */
function withoutTabs(lines: readonly string[]): readonly string[] {
  let isCode = false;
  return lines.map((line) => {
    if (FENCE.test(line.trim())) isCode = !isCode;
    return isCode ? line : line.replace(/^\s+/, (indent) => indent.replaceAll('\t', '    '));
  });
}

function parse(lines: readonly string[], depth: number): readonly Block[] {
  const blocks: Block[] = [];
  let paragraph: string[] = [];
  const flush = () => {
    if (paragraph.length > 0) {
      blocks.push({ type: 'paragraph', content: inlinesOf(paragraph.join('\n')) });
    }
    paragraph = [];
  };
  let index = 0;
  while (index < lines.length) {
    const line = lines[index]!;
    const found =
      fence(lines, index) ??
      simple(line) ??
      (depth < DEPTH ? (quote(lines, index, depth) ?? list(lines, index, depth)) : null) ??
      table(lines, index);
    // "in\n1986. A year" is a sentence: only a list from 1 follows a paragraph without an empty line.
    const isNumber = found?.block.type === 'list' && (found.block.start ?? 1) !== 1;
    if (found && !(isNumber && paragraph.length > 0)) {
      flush();
      blocks.push(found.block);
      index += found.lines;
      continue;
    }
    if (line.trim() === '') flush();
    else paragraph.push(line.trim());
    index += 1;
  }
  flush();
  return blocks;
}

interface ParsedBlock {
  readonly block: Block;
  /** Lines that it takes. */
  readonly lines: number;
}

function simple(line: string): ParsedBlock | null {
  const heading = HEADING.exec(line);
  if (heading) {
    const content = inlinesOf(heading[1]!.trimEnd().replace(/ #+$/, ''));
    return { block: { type: 'heading', content }, lines: 1 };
  }
  return RULE.test(line) ? { block: { type: 'rule' }, lines: 1 } : null;
}

/** A block of code; without an end it has the rest, as while it streams. */
function fence(lines: readonly string[], from: number): ParsedBlock | null {
  const [, mark, language] = FENCE.exec(lines[from]!) ?? [];
  if (mark === undefined) return null;
  const indent = lines[from]!.search(/\S/);
  let end = from + 1;
  while (end < lines.length) {
    const line = lines[end]!.trim();
    if (line.startsWith(mark) && line.replaceAll(mark[0]!, '') === '') break;
    end += 1;
  }
  const text = lines
    .slice(from + 1, end)
    .map((line) => line.slice(Math.min(indent, Math.max(0, line.search(/\S|$/)))))
    .join('\n');
  return { block: { type: 'code', language: language ?? '', text }, lines: end + 1 - from };
}

function quote(lines: readonly string[], from: number, depth: number): ParsedBlock | null {
  let end = from;
  while (end < lines.length && QUOTE.test(lines[end]!)) end += 1;
  if (end === from) return null;
  const inner = lines.slice(from, end).map((line) => line.replace(QUOTE, ''));
  return { block: { type: 'quote', content: parse(inner, depth + 1) }, lines: end - from };
}

function list(lines: readonly string[], from: number, depth: number): ParsedBlock | null {
  const first = ITEM.exec(lines[from]!);
  if (!first) return null;
  const kind = first[2]!.replace(/\d+/, '');
  const inner = first[1]!.length + 2;
  const items: string[][] = [];
  let index = from;
  /** Column at which the content of the item starts. */
  let column = 0;
  for (; index < lines.length; index += 1) {
    const line = lines[index]!;
    const indent = line.search(/\S|$/);
    const item = ITEM.exec(line);
    const isInner = items.length > 0 && indent >= inner;
    if (line.trim() === '') {
      // A list goes on after an empty line if an item or the content of one follows.
      const next = lines[index + 1];
      const isNext = next !== undefined && (next.search(/\S|$/) >= inner || ITEM.test(next));
      if (!isNext || next.trim() === '') break;
      items.at(-1)!.push('');
    } else if (item && !isInner) {
      if (item[2]!.replace(/\d+/, '') !== kind || RULE.test(line)) break;
      column = Math.min(item[0].length, item[1]!.length + item[2]!.length + 4);
      items.push([line.slice(item[0].length)]);
    } else if (isInner) items.at(-1)!.push(line.slice(Math.min(column, indent)));
    else if (lines[index - 1]!.trim() !== '' && !startsBlock(line)) items.at(-1)!.push(line.trim());
    else break;
  }
  const start = /^\d/.test(first[2]!) ? Number.parseInt(first[2]!, 10) : null;
  const block: Block = {
    type: 'list',
    start,
    items: items.map((item) => parse(item, depth + 1)),
  };
  return { block, lines: index - from };
}

function startsBlock(line: string): boolean {
  return [FENCE, HEADING, RULE, QUOTE, ITEM].some((start) => start.test(line));
}

function table(lines: readonly string[], from: number): ParsedBlock | null {
  const next = lines[from + 1];
  if (!lines[from]!.includes('|') || next === undefined || !DELIMITER.test(next)) return null;
  const head = cellsOf(lines[from]!);
  let end = from + 2;
  while (end < lines.length && lines[end]!.includes('|')) end += 1;
  const rows = lines.slice(from + 2, end).map((line) => {
    const cells = cellsOf(line);
    return head.map((_, column) => cells[column] ?? []);
  });
  return { block: { type: 'table', head, rows }, lines: end - from };
}

function cellsOf(line: string): readonly (readonly Inline[])[] {
  const inner = line.trim().replace(/^\|/, '').replace(/\|$/, '');
  return inner.split('|').map((cell) => inlinesOf(cell.trim()));
}

/** Each alternative reads at most to the next character that could start it again. */
const LINK =
  /!?\[([^[\]\n]{0,500})\]\(\s*(https?:\/\/[^\s()<>]{1,2000}(?:\([^\s()<>]{0,200}\))?[^\s()<>]{0,200})(?:\s+"[^"\n]{0,200}")?\s*\)/iy;
const ADDRESS = /https?:\/\/[^\s<>"'`\\^{}|]+/iy;

/** What may begin something other than text. */
const MARK = /`+|\*\*?|!?\[|(?<!\w)https?:\/\/|\\[\\`*_[\]#>|.!-]/gi;

export function inlinesOf(text: string): readonly Inline[] {
  const found: Inline[] = [];
  /** Marks that have no end in the rest of the text. */
  const open = new Set<string>();
  let plain = 0;
  let index = 0;
  const at = (pattern: RegExp) => {
    pattern.lastIndex = index;
    return pattern.exec(text);
  };
  const between = (mark: string): string | null => {
    if (open.has(mark)) return null;
    const end = text.indexOf(mark, index + mark.length);
    if (end === -1) open.add(mark);
    return end === -1 ? null : text.slice(index + mark.length, end);
  };
  /** What a mark begins, and its length; null where the mark is text. */
  const startedBy = (mark: string): readonly [Inline, length: number] | null => {
    if (mark.startsWith('\\')) return [mark[1]!, 2];
    if (mark.startsWith('`')) {
      const code = between(mark);
      return code ? [{ type: 'code', text: code.trim() }, code.length + 2 * mark.length] : null;
    }
    if (mark.startsWith('*')) {
      const inner = between(mark);
      if (!inner || /^\s|\s$|^\*/.test(inner)) return null;
      const type = mark === '**' ? 'strong' : 'em';
      return [{ type, content: inlinesOf(inner) }, inner.length + 2 * mark.length];
    }
    const [whole = '', label = '', target] = at(LINK) ?? [];
    const address = target ?? at(ADDRESS)?.[0].replace(/[.,;:!?)\]*_]+$/, '') ?? '';
    const href = address === '' ? null : safeAddress(address);
    if (href === null) return null;
    if (!mark.endsWith('[')) return [{ type: 'link', href, content: [address] }, address.length];
    const content = label === '' ? [href] : inlinesOf(label);
    return [{ type: 'link', href, content: content.map(unlinked) }, whole.length];
  };
  for (let mark = at(MARK); mark; mark = at(MARK)) {
    index = mark.index;
    const started = startedBy(mark[0]);
    if (started && index > plain) found.push(text.slice(plain, index));
    if (started) found.push(started[0]);
    index += started ? started[1] : mark[0].length;
    if (started) plain = index;
  }
  if (plain < text.length) found.push(text.slice(plain));
  return found;
}

/** Links do not contain links. */
function unlinked(inline: Inline): Inline {
  return typeof inline === 'object' && inline.type === 'link' ? inline.content.join('') : inline;
}

function safeAddress(text: string): string | null {
  try {
    const { protocol, href } = new URL(text);
    return protocol === 'http:' || protocol === 'https:' ? href : null;
  } catch {
    return null;
  }
}
