import fc from 'fast-check';
import { expect, it } from 'vitest';
import { bytesOfBase64 } from '../../../src/media/providers/base64.ts';

const bytes = fc.uint8Array({ minLength: 1, maxLength: 50 }).map((array) => Buffer.from(array));

it('what base64 says is told, padded or not, with a head or without', () => {
  const head = fc.constantFrom('', 'data:image/png;base64,', 'DATA:;base64,');
  fc.assert(
    fc.property(bytes, head, fc.boolean(), (data, before, padded) => {
      const text = data.toString('base64');
      expect(bytesOfBase64(before + (padded ? text : text.replace(/=+$/, '')))).toEqual(data);
    }),
  );
});

it('what is no digit makes it none, wherever it stands', () => {
  const stranger = fc.constantFrom('!', ' ', '\n', '=', '€', '\0', ',', '%3D');
  fc.assert(
    fc.property(bytes, stranger, fc.nat(), (data, strange, where) => {
      const text = data.toString('base64').replace(/=+$/, '');
      const at = where % text.length;
      expect(bytesOfBase64(text.slice(0, at) + strange + text.slice(at))).toBeNull();
    }),
  );
});

it.each(['', '=', '==', 'A', 'AA=', 'AAAA=', 'AA===', 'data:image/png;base64,', 'data:,AAAA'])(
  '%j says nothing',
  (text) => {
    expect(bytesOfBase64(text)).toBeNull();
  },
);
