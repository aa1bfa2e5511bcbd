import fc from 'fast-check';
import { expect, it } from 'vitest';
import { keysRedactor, redactKey } from '../../src/routing/redaction.ts';
import { runs } from '../runs.ts';

const KEYS = ['sk-first-5ecre7-0123456789abcdef', 'second-8', 'short', 'sk-third-Zyxwvu-98765'];

it('keysRedactor removes what redactKey removes key by key', () => {
  const redact = keysRedactor(KEYS);
  const whole = fc.constantFrom(...KEYS);
  const part = fc
    .tuple(whole, fc.nat(20), fc.nat(32))
    .map(([key, from, length]) => key.slice(from, from + length));
  const masked = whole.map((key) => `${key.slice(0, 5)}***${key.slice(-4)}`);
  const word = fc.oneof(whole, part, masked, fc.string({ maxLength: 12 }), fc.constant(' '));
  fc.assert(
    fc.property(fc.array(word, { maxLength: 8 }), (words) => {
      const text = words.join('');
      expect(redact(text)).toBe(KEYS.reduce((clean, key) => redactKey(clean, key), text));
    }),
    { numRuns: runs(300) },
  );
  expect(redact(`of ${KEYS[0]} and ${KEYS[1]}`)).toBe('of [key] and [key]');
});
