import { randomBytes } from 'node:crypto';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** 62 to the 20th: 119 random bits, which nobody guesses and no two records share. */
const LENGTH = 20;

/** A new identifier that tells what it names: `task_4fJ…`. */
export function newId(prefix: string): string {
  let id = '';
  while (id.length < LENGTH) {
    for (const byte of randomBytes(LENGTH + 4)) {
      // Bytes beyond the last whole multiple of 62 would make some letters likelier than others.
      if (byte < 248 && id.length < LENGTH) id += ALPHABET[byte % 62];
    }
  }
  return `${prefix}_${id}`;
}
