/** Levels of escapes within escapes that are resolved. */
const MAX_LEVELS = 4;

const MAY_BE_ESCAPED = /[%&\\<]|u\+[0-9a-f]/i;

/** Percent-encoded bytes; `%2541` is one that was encoded twice. */
const PERCENT = /(?:%(?:25)*[0-9a-f]{2})+/gi;
const PERCENT_BYTE = /%(?:25)*([0-9a-f]{2})/gi;
const CODE_UNIT = /(?:\\|%)u([0-9a-f]{4})/gi;
const CODE_POINT = /\\u\{0*([0-9a-f]{1,6})\}|\bu\+([0-9a-f]{4,6})/gi;
const BYTE = /\\x([0-9a-f]{2})/gi;
const OCTAL = /\\([0-3][0-7]{2})/g;
const BLANK = /\\[nrtvf]/gi;
const DECIMAL_ENTITY = /&(?:amp;)*#0*(\d{1,7});?/gi;
const HEXADECIMAL_ENTITY = /&(?:amp;)*#x0*([0-9a-f]{1,6});?/gi;
const NAMED_ENTITY = /&(?:amp;)*([a-z]{2,20});/gi;
/** HTML tags and comments, which browsers do not show. */
const MARKUP = /<!--.{0,200}?-->|<\/?[a-z][^<>]{0,200}>/gis;

const ACCENTED = /^([a-z])(?:acute|grave|uml|circ|tilde|ring|cedil|caron|slash|macr|breve|ogon)$/i;
const ENTITIES: Readonly<Record<string, string>> = {
  __proto__: null as never,
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", sol: '/', lowbar: '_', percnt: '%' },
  ...{ nbsp: ' ', ensp: ' ', emsp: ' ', thinsp: ' ', hairsp: ' ', Tab: ' ', NewLine: '\n' },
  ...{ shy: '\u00ad', zwj: '\u200d', zwnj: '\u200c', lrm: '\u200e', rlm: '\u200f' },
  ...{ period: '.', comma: ',', hyphen: '-' },
};

/**
 * Resolves escapes of URLs, HTML and programming languages, and removes markup. Returns the text itself
 * if it has none. The result is never longer than the text; time grows with the length.
 */
export function unescaped(text: string): string {
  let result = text;
  for (let round = 0; round < MAX_LEVELS && MAY_BE_ESCAPED.test(result); round++) {
    const before = result;
    result = result
      .replace(CODE_UNIT, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
      .replace(PERCENT, decodedBytes)
      .replace(CODE_POINT, (written, braced: string | undefined, bare: string) =>
        character(Number.parseInt(braced ?? bare, 16), written),
      )
      .replace(BYTE, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
      .replace(BLANK, ' ')
      .replace(OCTAL, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)))
      .replace(DECIMAL_ENTITY, (written, code: string) => character(Number(code), written))
      .replace(HEXADECIMAL_ENTITY, (written, code: string) =>
        character(Number.parseInt(code, 16), written),
      )
      .replace(NAMED_ENTITY, (written, name: string) => {
        return ENTITIES[name] ?? ACCENTED.exec(name)?.[1] ?? written;
      })
      .replace(MARKUP, '');
    if (result === before) break;
  }
  return result;
}

function decodedBytes(escapes: string): string {
  const hexadecimal = escapes.replace(PERCENT_BYTE, '$1');
  const bytes = Buffer.from(hexadecimal, 'hex');
  const text = bytes.toString();
  // Older software encodes bytes of Latin-1.
  return text.includes('\ufffd') ? bytes.toString('latin1') : text;
}

function character(code: number, written: string): string {
  return code <= 0x10ffff ? String.fromCodePoint(code) : written;
}
