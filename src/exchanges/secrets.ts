import { cutInto, type RecordedAnswer } from './exchange.ts';

/** Replaces the secrets of a text by asterisks. The length stays, so that chunks keep their boundaries. */
export type Mask = (text: string) => string;

/** A secret stands alone: it is no part of a longer word, such as an image in base64. */
const alone = (source: string) => `(?<![A-Za-z0-9+/=_-])(?:${source})(?![A-Za-z0-9_])`;

/** The forms of keys, tokens and account identifiers. The first group, where there is one, is no secret. */
const FORMS: readonly string[] = [
  // OpenAI, Anthropic, OpenRouter and many others
  alone('(sk-)[\\w-]{16,}'),
  alone('(AIza)[\\w-]{35}'),
  alone('(ya29\\.)[\\w-]{20,}'),
  alone('(A[KS]IA)[0-9A-Z]{16}'),
  alone('(gh[oprsu]_)[A-Za-z0-9]{30,}'),
  alone('(github_pat_)\\w{40,}'),
  alone('(glpat-)[\\w-]{20,}'),
  alone('(xox[abprs]-)[\\w-]{10,}'),
  alone('(hf_|gsk_|r8_|whsec_|oriel_)[A-Za-z0-9+/=]{24,}'),
  alone('(xai-|pplx-|nvapi-)[\\w-]{24,}'),
  // JSON Web Tokens
  alone('(eyJ)[\\w-]{10,}\\.[\\w-]{10,}\\.[\\w-]*'),
  // Accounts of OpenAI and Stripe, and of a cloud in its resource names
  alone('(org-|proj_|user-|acct_)[A-Za-z0-9]{14,}'),
  '(arn:aws[\\w-]*:[\\w-]*:[\\w-]*:)\\d{12}',
  '((?:Bearer|Basic)\\s+)[\\w.~+/=-]{12,}',
  '(:\\/\\/)[^\\s/:@"]+:[^\\s/@"]+(?=@)',
  '([?&](?:sig|signature|token|key|api[_-]?key|access[_-]?token|x-amz-(?:signature|credential|security-token))=)[^&\\s"\\\\]{6,}',
  '(-----BEGIN [A-Z ]*PRIVATE KEY-----)[^-]+',
];

const ANY_FORM = new RegExp(FORMS.join('|'), 'gi');

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

function maskFound(found: string, ...groups: unknown[]): string {
  const kept = groups.slice(0, FORMS.length).find((group) => typeof group === 'string') ?? '';
  const { length } = String(kept);
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
