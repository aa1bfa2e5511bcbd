/** What is put in the place of a key, or of a part of it. */
const PLACE = '[key]';

/** Keys shorter than this protect nothing, and may be words: `none`, `ollama`. */
const SHORTEST = 8;

/** Characters in a row by which a part of a key is told. */
const PART = 13;

/** A text without a key, its parts of over 12 characters and its masked forms, `sk-ab…wxyz`. */
export function withoutSecret(text: string, secret: string | undefined): string {
  if (secret === undefined || secret.length < SHORTEST) return text;
  return withoutMasked(withoutParts(text, secret), secret);
}

/** What a client is told, which may hold anything, without a key that stands in it as it is. */
export function told<Told extends string | Buffer>(text: Told, secret: string | undefined) {
  if (secret === undefined || secret.length < SHORTEST) return text;
  // Keys are ASCII, and texts are searched four times as fast as bytes.
  const found = (typeof text === 'string' ? text : text.toString('latin1')).includes(secret);
  return found ? withoutSecret(text.toString(), secret) : text;
}

/** An upstream's complaint as it came, each of its texts and names without a key and its parts. */
export function complaintWithout(complaint: unknown, secret: string | undefined): unknown {
  if (typeof complaint === 'string') return withoutSecret(complaint, secret);
  if (Array.isArray(complaint)) return complaint.map((one) => complaintWithout(one, secret));
  if (typeof complaint !== 'object' || complaint === null) return complaint;
  return Object.fromEntries(
    Object.entries(complaint).map(([name, value]) => [
      withoutSecret(name, secret),
      complaintWithout(value, secret),
    ]),
  );
}

function withoutParts(text: string, secret: string): string {
  const length = Math.min(PART, secret.length);
  const parts = new Set<string>();
  for (let start = 0; start + length <= secret.length; start += 1) {
    parts.add(secret.slice(start, start + length));
  }
  let result = '';
  /** Where what is still to be copied begins. */
  let from = 0;
  for (let start = 0; start + length <= text.length; start += 1) {
    if (!parts.has(text.slice(start, start + length))) continue;
    // Windows that overlap, or touch, are one part.
    result += start > from || from === 0 ? text.slice(from, start) + PLACE : '';
    from = start + length;
  }
  return result + text.slice(from);
}

/** Echoes such as `sk-ab***wxyz` show the beginning and the end. */
function withoutMasked(text: string, secret: string): string {
  if (!/[*…]|\.\.\./.test(text)) return text;
  const head = secret.slice(0, 3);
  const tail = secret.slice(-3);
  return text
    .split(/([\s"'`<>()]+)/)
    .map((word) => {
      const masked = word.includes('*') || word.includes('…') || word.includes('...');
      return masked && (word.includes(head) || word.includes(tail)) ? PLACE : word;
    })
    .join('');
}
