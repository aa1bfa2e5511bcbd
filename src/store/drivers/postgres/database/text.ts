/** Characters that a text column holds as they are. */
const PLAIN = /^[ !#-[\]-\ud7ff\ue000-\uffff]*$/;

/**
 * A string as a text column holds it: as in JSON, without the quotes. PostgreSQL refuses NUL in text, and
 * UTF-8 has no lone surrogates. Different strings stay different.
 */
export function encodeText(value: string): string {
  return PLAIN.test(value) ? value : JSON.stringify(value).slice(1, -1);
}

export function decodeText(stored: string): string {
  return stored.includes('\\') ? (JSON.parse(`"${stored}"`) as string) : stored;
}
