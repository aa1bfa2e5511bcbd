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
