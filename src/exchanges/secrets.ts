import { cutInto, type RecordedAnswer } from './exchange.ts';
import { ACCOUNT_FORMS, SECRET_FORMS } from './secret-forms.ts';

/** Replaces the secrets of a text by asterisks. The length stays, so that chunks keep their boundaries. */
export type Mask = (text: string) => string;

const ANY_FORM = new RegExp(`${SECRET_FORMS}|${ACCOUNT_FORMS}`, 'g');

/** Shorter secrets of a configuration may be words: `none`, `ollama`. */
const MIN_LENGTH = 8;

/** Masks secrets of the configuration in force, which have any form. */
export function knownMaskOf(secrets: readonly string[]): Mask {
  const known = secrets
    .filter(({ length }) => length >= MIN_LENGTH)
    .sort((a, b) => b.length - a.length);
  return (text) =>
    known.reduce((masked, one) => masked.replaceAll(one, '*'.repeat(one.length)), text);
}

/** Masks secrets of the configuration, and all that have a usual form. */
export function maskOf(secrets: readonly string[]): Mask {
  const maskKnown = knownMaskOf(secrets);
  return (text) => maskKnown(text).replace(ANY_FORM, maskFound);
}

function maskFound(found: string, ...captures: unknown[]): string {
  // The last two are the place and the whole text.
  const kept = captures.slice(0, -2).find((group) => group !== undefined);
  const { length } = String(kept ?? '');
  return found.slice(0, length) + '*'.repeat(found.length - length);
}

/** An answer without secrets. Its chunks keep their boundaries: a secret may be split over two. */
export function maskAnswer(answer: RecordedAnswer, mask: Mask): RecordedAnswer {
  const { headers, chunks, end } = answer;
  const whole = Buffer.concat(chunks);
  // One character for each byte, so that every byte keeps its place.
  const text = whole.toString('latin1');
  const masked = maskText(text, mask);
  return {
    ...answer,
    headers: Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, mask(text)])),
    chunks: cutInto(
      Buffer.from(masked, 'latin1'),
      chunks.map(({ length }) => length),
    ),
    end: typeof end === 'string' ? end : { ...end, message: mask(end.message) },
  };
}

const ESCAPES = /\\(?:u00([0-7][0-9a-f])|(["\\/]))/gi;

/** Texts of JSON inside texts of JSON that are looked into. */
const MAX_DEPTH = 4;

/** Masks a text, also where JSON escapes characters of a secret: `\u0073k-`, `https:\/\/`. */
export function maskText(text: string, mask: Mask, depth = 0): string {
  const masked = mask(text);
  const escapes = [...masked.matchAll(ESCAPES)];
  if (escapes.length === 0 || depth === MAX_DEPTH) return masked;
  const plain = masked.replace(ESCAPES, (_, code: string | undefined, literal: string) =>
    code === undefined ? literal : String.fromCharCode(Number.parseInt(code, 16)),
  );
  // JSON may be in a text of JSON.
  const plainMasked = maskText(plain, mask, depth + 1);
  if (plainMasked === plain) return masked;
  let result = '';
  let at = 0;
  let plainAt = 0;
  for (const { 0: escaped, index } of escapes) {
    result += plainMasked.slice(plainAt, plainAt + index - at);
    plainAt += index - at;
    const isSecret = plainMasked[plainAt] !== plain[plainAt];
    result += isSecret && escaped.length === 6 ? '\\u002a' : escaped;
    plainAt += 1;
    at = index + escaped.length;
  }
  return result + plainMasked.slice(plainAt);
}
