import { randomFillSync } from 'node:crypto';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** 20 of 62 characters: 119 random bits, too many to guess or to collide. */
const LENGTH = 20;

/** A new identifier with a prefix for its kind: `task_4fJ…`. */
export function newId(prefix: string): string {
  return `${prefix}_${randomText(LENGTH)}`;
}

/**
 * Random bytes generated in advance: a call into OpenSSL takes longer than one identifier. Used bytes are erased, so that
 * they cannot be read from memory.
 */
const pool = Buffer.alloc(4096);
let used = pool.length;

function randomByte(): number {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const byte = pool[used]!;
  pool[used] = 0;
  used += 1;
  return byte;
}

/** Random bytes in hexadecimal digits. */
export function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const hex = pool.toString('hex', used, used + bytes);
  pool.fill(0, used, used + bytes);
  used += bytes;
  return hex;
}

/** Random letters and digits, almost six bits each. */
export function randomText(length: number): string {
  let text = '';
  while (text.length < length) {
    const byte = randomByte();
    // 248 is the largest multiple of 62 in a byte: bytes above it would make some characters more likely.
    if (byte < 248) text += ALPHABET[byte % 62];
  }
  return text;
}
