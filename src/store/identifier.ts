import { randomFillSync } from 'node:crypto';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** 62 to the 20th: 119 random bits, which nobody guesses and no two records share. */
const LENGTH = 20;

/** A new identifier that tells what it names: `task_4fJ…`. */
export function newId(prefix: string): string {
  return `${prefix}_${randomText(LENGTH)}`;
}

/** Random bytes drawn ahead, for each draw is a call into OpenSSL that takes longer than an identifier. */
const pool = Buffer.alloc(4096);
let used = pool.length;

function randomByte(): number {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const byte = pool[used]!;
  // What was given out is not to be found in memory.
  pool[used] = 0;
  used += 1;
  return byte;
}

/** Letters and digits drawn at random, near six bits each. */
export function randomText(length: number): string {
  let text = '';
  while (text.length < length) {
    const byte = randomByte();
    // Bytes beyond the last whole multiple of 62 would make some letters likelier than others.
    if (byte < 248) text += ALPHABET[byte % 62];
  }
  return text;
}
