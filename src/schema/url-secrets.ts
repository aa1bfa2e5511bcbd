/** Text that is an address: it has an authority, credentials or a query with a value. */
const ADDRESS = /\/\/|:[^@]*@|\?[^=]*=/;

/**
 * A text without the parts of an address that can hold a secret: credentials before `@`, the query
 * and the fragment. Text that is no address stays as it is.
 */
export function withoutUrlSecrets(text: string): string {
  return ADDRESS.test(text) ? hideUrlSecrets(text) : text;
}

/** The same for a text that is known to be meant as an address: `host/v1#secret`. */
export function hideUrlSecrets(text: string): string {
  const credentials = text.lastIndexOf('@') + 1;
  // A password may hold signs that it should not, so that it ends at the last `@`.
  const scheme = credentials === 0 ? '' : /^(?:[^/@]*\/\/)?/.exec(text)![0];
  const open = text.slice(credentials);
  const shown = open.replace(/([?#]).*$/s, '$1***');
  return credentials === 0 ? shown : `${scheme}***@${shown}`;
}
