import { sep } from 'node:path';
import * as v from 'valibot';
import { field } from '../../schema/fields.ts';
import { escapeXml } from '../../schema/xml.ts';

const SEPARATORS = sep === '/' ? '/' : /[\\/]/;

/** Characters that end an attribute, or that its value would lose. */
const IN_ATTRIBUTES: Readonly<Record<string, string>> = {
  '"': '&quot;',
  '\n': '&#10;',
  '\r': '&#13;',
};

/** A text for an attribute or for content of XML and HTML. */
export function escapeMarkup(text: string): string {
  return escapeXml(text).replace(/["\n\r]/g, (character) => IN_ATTRIBUTES[character]!);
}

/** An element's start tag. @param attributes undefined ones are left out */
export function tag(
  name: string,
  attributes: Readonly<Record<string, string | number | undefined>>,
): string {
  const written = Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}="${escapeMarkup(String(value))}"`);
  return `<${name}${written.join('')}>`;
}

/**
 * The URL of a file below a base. Each part of the path is escaped, commas too, which end a candidate of `srcset`.
 *
 * @param base a URL or a path; empty for a relative URL
 * @param path relative to the base
 */
export function urlOf(base: string, path: string): string {
  const lead = base === '' || base.endsWith('/') ? base : `${base}/`;
  const parts = path.split(SEPARATORS).filter((part) => part !== '' && part !== '.');
  // A lone surrogate, which some file systems allow, has no UTF-8.
  const escaped = parts.map((part) =>
    encodeURIComponent(part.replace(/\p{Surrogate}/gu, '\ufffd')),
  );
  return lead + escaped.join('/');
}

/** The field of a URL to which names of files are added. */
export const baseUrlField = () =>
  field(
    v.pipe(v.string(), v.maxLength(1000), v.regex(/^[^\s?#"'<>\p{Cc}]*$/u)),
    'URL of the folder of outputs',
    { expects: 'a URL or a path such as /img/' },
  );
