/** Names of outputs: a template with placeholders in braces. */
const PLACEHOLDERS = [
  ...(['name', 'ext', 'width', 'height', 'index', 'format'] as const),
  ...(['hash', 'parent', 'date'] as const),
] as const;

type Placeholder = (typeof PLACEHOLDERS)[number];

/** Values of the placeholders; undefined where they are not known yet. */
export type TemplateValues = {
  readonly [Key in Exclude<Placeholder, 'hash' | 'parent' | 'date'>]: string | number | undefined;
} & {
  /** SHA-256 of the output's bytes. */
  readonly hash: string | undefined;
  /** Name of the input's folder. */
  readonly parent?: string;
  /** `YYYY-MM-DDTHH:MM:SS`; null for a picture without a date. */
  readonly date?: string | null | undefined;
};

const PLACEHOLDER = /\{([^{}]*)\}/g;

/** Digits of the hash in a name: enough for 2^32 outputs. */
const HASH_DIGITS = 16;

const DEFAULT_DATE = 'YYYY-MM-DD';
/** The name's part for a picture without a date. */
const UNDATED = 'undated';
/** Start of each part of `YYYY-MM-DDTHH:MM:SS`. */
const DATE_PARTS = { YYYY: 0, MM: 5, DD: 8, HH: 11, mm: 14, ss: 17 } as const;
const DATE_PART = /YYYY|MM|DD|HH|mm|ss/g;

/** Whether a template needs the date of the picture. */
export const needsDate = (template: string): boolean => /\{date[:}]/.test(template);

function dateText(date: string | null, format: string): string {
  if (date === null) return UNDATED;
  return format.replace(DATE_PART, (part) => {
    const start = DATE_PARTS[part as keyof typeof DATE_PARTS];
    return date.slice(start, start + part.length);
  });
}

/** The fault of a template for a file name; null where it is valid. */
export function templateFault(template: string): string | null {
  const fault = placeholderFault(template);
  if (fault !== null) return fault;
  if (/[/\\]/.test(template)) {
    return 'expected a file name, received a path; --out names the folder';
  }
  if (template === '.' || template === '..') return `expected a file name, received ${template}`;
  return null;
}

/** The fault of a template for any text; null where it is valid. */
export function placeholderFault(
  template: string,
  placeholders: readonly Placeholder[] = PLACEHOLDERS,
): string | null {
  for (const [text, content = ''] of template.matchAll(PLACEHOLDER)) {
    const [placeholder, format] = content.split(/:(.*)/s);
    if (placeholder === 'date' && placeholders.includes('date') && format !== undefined) {
      const rest = format.replace(DATE_PART, '');
      if (rest !== format && /^[-_. ]*$/.test(rest)) continue;
      return `expected YYYY MM DD HH mm ss with - _ . or blanks between them, received ${text}`;
    }
    if (format !== undefined || !placeholders.some((known) => known === placeholder)) {
      return `expected ${placeholders.map((name) => `{${name}}`).join(' ')}, received ${text}`;
    }
  }
  const stray = /[{}]/.exec(template.replace(PLACEHOLDER, ''))?.[0];
  return stray === undefined ? null : `expected braces in pairs, received a ${stray} alone`;
}

/** The name; null where the template needs a value that is not known. */
export function fillTemplate(template: string, values: TemplateValues): string | null {
  let complete = true;
  const name = template.replace(PLACEHOLDER, (_, content: string) => {
    const [placeholder, format = DEFAULT_DATE] = content.split(':');
    let value = values[placeholder as Placeholder];
    if (placeholder === 'hash') value = values.hash?.slice(0, HASH_DIGITS);
    if (placeholder === 'date' && values.date !== undefined) value = dateText(values.date, format);
    if (value === undefined) complete = false;
    return String(value ?? '');
  });
  return complete ? name : null;
}
