import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redactIfUrl, redactUrl } from '../../src/schema/faults.ts';

describe('secrets in URLs', () => {
  it.each([
    ['https://x.example/v1', 'https://x.example/v1'],
    ['https://x.example/v1?key=SECRET', 'https://x.example/v1?***'],
    ['https://x.example/v1#SECRET', 'https://x.example/v1#***'],
    ['https://user:SECRET@x.example/v1?a#b', 'https://***@x.example/v1?***'],
    ['https://user:SEC/RET@x.example/v1', 'https://***@x.example/v1'],
    ['https://user:SEC?RE#T@x.example/v1', 'https://***@x.example/v1'],
    ['user:SECRET@x.example', '***@x.example'],
    ['x.example/v1?key=SECRET', 'x.example/v1?***'],
    ['why? because', 'why? because'],
    ['name@host', 'name@host'],
  ])('%s is redacted to %s', (text, shown) => {
    expect(redactIfUrl(text)).toBe(shown);
  });

  it('are redacted in every position', () => {
    const part = fc.constantFrom('https:', '//', '@', '?', '#', '=', '/', 'host', ':', '\n');
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        const before = parts.join('');
        for (const text of [`${before}?SECRET`, `${before}#SECRET`, `SECRET@${before}`]) {
          expect(redactUrl(text)).not.toContain('SECRET');
        }
      }),
    );
  });
});
