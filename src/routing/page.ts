/** Characters of a page that are looked at: what it says stands near its top. */
const LOOKED_AT = 64 * 1024;

/** Characters of its text that are told. */
const LONGEST = 200;

/** Elements whose content nobody reads. */
const UNREAD = [
  { opens: /<script[\s>]/iy, closes: /<\/script/gi },
  { opens: /<style[\s>]/iy, closes: /<\/style/gi },
  { opens: /<head[\s>]/iy, closes: /<\/head/gi },
];

const NAMED = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
  ['nbsp', ' '],
  ['#39', "'"],
]);

/**
 * What a page says in short: its title, or its first words. Null for text that is no page. Takes time
 * by its length alone, whatever is in it.
 */
export function textOfPage(text: string): string | null {
  const page = text.slice(0, LOOKED_AT);
  if (!/^\s*</.test(page.slice(0, 1000)) && !/<(!doctype|html|body)\b/i.test(page)) return null;
  const said = titleOf(page) || wordsOf(page);
  return said.length > LONGEST ? `${said.slice(0, LONGEST - 1)}…` : said;
}

function titleOf(page: string): string {
  return inClear(/<title[^<>]*>([^<]*)/i.exec(page)?.[1] ?? '');
}

function wordsOf(page: string): string {
  let words = '';
  let at = 0;
  while (at < page.length && words.length < LONGEST * 2) {
    const tag = page.indexOf('<', at);
    if (tag === -1) {
      words += page.slice(at);
      break;
    }
    words += `${page.slice(at, tag)} `;
    const unread = UNREAD.find(({ opens }) => indexFrom(opens, page, tag) === tag);
    const closed = unread === undefined ? tag : indexFrom(unread.closes, page, tag);
    // What is not closed goes on to the end.
    const end = closed === -1 ? -1 : page.indexOf('>', closed);
    if (end === -1) break;
    at = end + 1;
  }
  return inClear(words);
}

function indexFrom(expression: RegExp, text: string, from: number): number {
  expression.lastIndex = from;
  return expression.exec(text)?.index ?? -1;
}

/** The text of what stands between tags. */
function inClear(text: string): string {
  return text
    .replace(/&(#39|[a-z]{2,4});/g, (entity, name: string) => NAMED.get(name) ?? entity)
    .replace(/\s+/g, ' ')
    .trim();
}
