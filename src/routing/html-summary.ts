/** Characters of a page that are read: its message stands near the top. */
const MAX_PAGE_LENGTH = 64 * 1024;

/** Characters of a summary. */
const MAX_SUMMARY_LENGTH = 200;

/** Elements whose content is not text for readers. */
const SKIPPED_ELEMENTS = [
  { opens: /<script[\s>]/iy, closes: /<\/script/gi },
  { opens: /<style[\s>]/iy, closes: /<\/style/gi },
  { opens: /<head[\s>]/iy, closes: /<\/head/gi },
];

const ENTITIES = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
  ['nbsp', ' '],
  ['#39', "'"],
]);

/**
 * The title of an HTML page, or else its first words; null where the text is no HTML. Runs in linear
 * time, whatever the text.
 */
export function htmlSummary(text: string): string | null {
  const page = text.slice(0, MAX_PAGE_LENGTH);
  if (!/^\s*</.test(page.slice(0, 1000)) && !/<(!doctype|html|body)\b/i.test(page)) return null;
  const title = /<title[^<>]*>([^<]*)/i.exec(page)?.[1] ?? '';
  const summary = decodeText(title) || firstWords(page);
  return summary.length > MAX_SUMMARY_LENGTH
    ? `${summary.slice(0, MAX_SUMMARY_LENGTH - 1)}…`
    : summary;
}

function firstWords(page: string): string {
  let words = '';
  let at = 0;
  while (at < page.length && words.length < MAX_SUMMARY_LENGTH * 2) {
    const tag = page.indexOf('<', at);
    if (tag === -1) {
      words += page.slice(at);
      break;
    }
    words += `${page.slice(at, tag)} `;
    const skipped = SKIPPED_ELEMENTS.find(({ opens }) => indexFrom(opens, page, tag) === tag);
    const closed = skipped === undefined ? tag : indexFrom(skipped.closes, page, tag);
    // An unclosed element extends to the end of the page.
    const end = closed === -1 ? -1 : page.indexOf('>', closed);
    if (end === -1) break;
    at = end + 1;
  }
  return decodeText(words);
}

function indexFrom(expression: RegExp, text: string, from: number): number {
  expression.lastIndex = from;
  return expression.exec(text)?.index ?? -1;
}

/** Decodes entities and collapses white space of text between tags. */
function decodeText(text: string): string {
  return text
    .replace(/&(#39|[a-z]{2,4});/g, (entity, name: string) => ENTITIES.get(name) ?? entity)
    .replace(/\s+/g, ' ')
    .trim();
}
