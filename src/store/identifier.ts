import { randomBytes } from 'node:crypto';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** 62 to the 20th: 119 random bits, which nobody guesses and no two records share. */
const LENGTH = 20;

/** A new identifier that tells what it names: `task_4fJ…`. */
export function newId(prefix: string): string {
  return `${prefix}_${randomText(LENGTH)}`;
}

/** Letters and digits drawn at random, near six bits each. */
export function randomText(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length + 4)) {
      // Bytes beyond the last whole multiple of 62 would make some letters likelier than others.
      if (byte < 248 && text.length < length) text += ALPHABET[byte % 62];
    }
  }
  return text;
}
