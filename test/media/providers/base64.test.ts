import fc from 'fast-check';
import { expect, it } from 'vitest';
import { bytesOfBase64 } from '../../../src/media/provider/output-files.ts';

const bytes = fc.uint8Array({ minLength: 1, maxLength: 50 }).map((array) => Buffer.from(array));

it('bytesOfBase64 decodes with and without padding and data: prefix', () => {
  const head = fc.constantFrom('', 'data:image/png;base64,', 'DATA:;base64,');
  fc.assert(
    fc.property(bytes, head, fc.boolean(), (data, before, padded) => {
      const text = data.toString('base64');
      expect(bytesOfBase64(before + (padded ? text : text.replace(/=+$/, '')))).toEqual(data);
    }),
  );
});

it('bytesOfBase64 rejects invalid characters at any position', () => {
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
  'bytesOfBase64 rejects %j',
  (text) => {
    expect(bytesOfBase64(text)).toBeNull();
  },
);
