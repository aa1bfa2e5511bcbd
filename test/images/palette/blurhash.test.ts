import { encode } from 'blurhash';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { blurHash } from '../../../src/images/palette/blurhash.ts';
import { runs } from '../../runs.ts';

test('a BlurHash is that of the reference implementation, for any pixels and components', () => {
  const side = fc.integer({ min: 1, max: 24 });
  const components = fc.integer({ min: 1, max: 9 });
  fc.assert(
    fc.property(side, side, components, components, fc.infiniteStream(fc.nat(255)), (...given) => {
      const [width, height, across, down, levels] = given;
      const data = Uint8ClampedArray.from(levels.take(width * height * 4));
      const expected = encode(data, width, height, across, down);
      expect(blurHash({ data, width, height }, across, down)).toBe(expected);
    }),
    { numRuns: runs(200) },
  );
});
