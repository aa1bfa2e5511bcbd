/** Text that looks like a URL: it has an authority, credentials or a query with a value. */
const URL_LIKE = /\/\/|:[^@]*@|\?[^=]*=/;

/** Redacts text that looks like a URL; returns any other text unchanged. */
export function redactIfUrl(text: string): string {
  return URL_LIKE.test(text) ? redactUrl(text) : text;
}

/**
 * Redacts the parts of a URL that can hold a secret: credentials before `@`, the query and the fragment.
 * The text may be malformed: `host/v1#secret`.
 */
export function redactUrl(text: string): string {
  const credentials = text.lastIndexOf('@') + 1;
  // An unescaped password may hold `@`, so the credentials end at the last one.
  const scheme = credentials === 0 ? '' : /^(?:[^/@]*\/\/)?/.exec(text)![0];
  const rest = text.slice(credentials);
  const redacted = rest.replace(/([?#]).*$/s, '$1***');
  return credentials === 0 ? redacted : `${scheme}***@${redacted}`;
}
