/** A secret stands alone, or after an escape of JSON: it is no part of a longer word, such as an image in base64. */
const alone = (...sources: readonly string[]) =>
  `(?:(?<![A-Za-z0-9+/_-])|(?<=\\\\[bfnrt]))(?:${sources.join('|')})(?![A-Za-z0-9_])`;

const inAnyCase = (source: string) =>
  source.replace(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);

/** What follows is no word of a language: `basic understanding`, `user-authentication`. */
const NO_WORD = '(?=[\\w~+/-]*(?:\\d|[a-z][A-Z]|=|\\.\\w))';

/** The forms of keys, tokens and passwords, as a regular expression. The first group that matches is no secret. */
export const SECRET_FORMS = [
  alone(
    // OpenAI, Anthropic, OpenRouter and many others
    '(sk-)[\\w-]{16,}',
    '(sk_|[pr]k_(?:live|test)_)\\w{16,}',
    '(AIza)[\\w-]{35}',
    '(ya29\\.)[\\w-]{20,}',
    '(A[KS]IA)[0-9A-Z]{16}',
    '(gh[oprsu]_)[A-Za-z0-9]{30,}',
    '(github_pat_)\\w{40,}',
    '(glpat-)[\\w-]{20,}',
    '(xox[abprs]-)[\\w-]{10,}',
    '(hf_|gsk_|r8_|whsec_|oriel_)[A-Za-z0-9+/=]{24,}',
    '(xai-|pplx-|nvapi-)[\\w-]{24,}',
    // JSON Web Tokens
    '(eyJ)[\\w-]{10,}\\.[\\w-]{10,}\\.[\\w-]*',
  ),
  `(${inAnyCase('(?:bearer|basic)')}\\s+)${NO_WORD}[\\w.~+/=-]{12,}`,
  '(:\\/\\/)[^\\s/:@"]+:[^\\s/@"]+(?=@)',
  `([?&]${inAnyCase('(?:sig|signature|token|key|api[_-]?key|access[_-]?token|x-amz-(?:signature|credential|security-token))')}=)[^&\\s"\\\\]{6,}`,
  '(-----BEGIN [A-Z ]*PRIVATE KEY-----)[^-]+',
].join('|');

/** The forms of identifiers that name an account. */
export const ACCOUNT_FORMS = [
  // OpenAI and Stripe, and a cloud in its resource names
  alone(`(org-|proj_|user-|acct_)${NO_WORD}[A-Za-z0-9]{14,}`),
  '(arn:aws[\\w-]*:[\\w-]*:[\\w-]*:)\\d{12}',
].join('|');
