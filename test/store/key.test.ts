import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { checkChosenKey, newKey } from '../../src/store/key.ts';

const check = (key: string) => () => checkChosenKey(key, 'KEY');

describe('checkChosenKey', () => {
  it.each([
    'a'.repeat(512),
    'ab'.repeat(40),
    'password'.repeat(8),
    'changeme'.repeat(3),
    '12345678'.repeat(4),
    'abcdefghijklmnopqrstuvwxyz',
    'zyxwvutsrqponmlkjihgfedcba0123456789',
    '0123456789abcdef0123456789abcdef',
    `sk-oriel-${'0'.repeat(43)}`,
    '11111111-1111-1111-1111-111111111111',
  ])('rejects a key that could be guessed: %s', (key) => {
    expect(check(key)).toThrow(/^KEY: this key could be guessed/);
  });

  it('accepts keys that could be guessed where they may be, if a header can hold them', () => {
    expect(() => checkChosenKey('secret', 'KEY', true)).not.toThrow();
    for (const key of ['two words', 'schlüssel', '']) {
      expect(() => checkChosenKey(key, 'KEY', true)).toThrow(/^KEY: expected printable ASCII/);
    }
  });

  it('accepts random keys of any alphabet', () => {
    for (let run = 0; run < 2000; run += 1) {
      expect(check(randomBytes(16).toString('hex'))).not.toThrow();
      expect(check(randomBytes(18).toString('base64'))).not.toThrow();
      expect(check(newKey())).not.toThrow();
    }
  });
});
