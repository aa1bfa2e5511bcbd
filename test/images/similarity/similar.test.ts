import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  groupSimilar,
  type HashedPicture,
  hashDistance,
  MAX_STRETCH,
  MAX_THRESHOLD,
} from '../../../src/images/similarity/similar.ts';
import { runs } from '../../runs.ts';

/** Set bits of each hexadecimal digit. */
const BITS = [0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4];

function distance(one: string, other: string): number {
  let bits = 0;
  for (let digit = 0; digit < 16; digit += 1) {
    bits += BITS[Number.parseInt(one[digit]!, 16) ^ Number.parseInt(other[digit]!, 16)]!;
  }
  return bits;
}

/** Groups by the definition, comparing every picture with every leader. */
function reference(pictures: readonly HashedPicture[], threshold: number): number[] {
  const leaders: number[] = [];
  return pictures.map(({ hash, width, height }, own) => {
    let nearest = -1;
    for (const leader of leaders) {
      const other = pictures[leader]!;
      const stretch = width / height / (other.width / other.height);
      if (Math.max(stretch, 1 / stretch) > MAX_STRETCH) continue;
      const bits = distance(hash, other.hash);
      if (bits > threshold) continue;
      if (nearest < 0 || bits < distance(hash, pictures[nearest]!.hash)) nearest = leader;
    }
    if (nearest >= 0) return nearest;
    leaders.push(own);
    return own;
  });
}

const square = (hash: string): HashedPicture => ({ hash, width: 8, height: 8 });

const hex = (value: bigint) => value.toString(16).padStart(16, '0');

/** Hashes of a few centres with some bits changed, so that many are close to the threshold. */
const clustered = fc
  .tuple(
    fc.array(fc.bigInt(0n, 2n ** 64n - 1n), { minLength: 1, maxLength: 5 }),
    fc.array(
      fc.record({
        centre: fc.nat(),
        bits: fc.array(fc.nat(63), { maxLength: 24 }),
        width: fc.constantFrom(8, 8, 8, 9, 10, 20),
      }),
      { minLength: 1, maxLength: 300 },
    ),
  )
  .map(([centres, changes]) =>
    changes.map(({ centre, bits, width }) => {
      const changed = bits.reduce(
        (hash, bit) => hash ^ (1n << BigInt(bit)),
        centres[centre % centres.length]!,
      );
      return { hash: hex(changed), width, height: 8 };
    }),
  );

describe('groupSimilar', () => {
  it('agrees with comparing every picture with every leader, for every threshold', () => {
    fc.assert(
      fc.property(clustered, fc.integer({ min: 0, max: MAX_THRESHOLD }), (pictures, threshold) => {
        expect([...groupSimilar(pictures, threshold)]).toEqual(reference(pictures, threshold));
      }),
      { numRuns: runs(200) },
    );
  });

  it('agrees for so many leaders that they are looked up', () => {
    // Random hashes and a copy of each with few bits changed: more leaders than the 428 lookups for threshold 10.
    const random = fc.sample(fc.bigInt(0n, 2n ** 64n - 1n), { numRuns: 600, seed: 7 });
    const pictures = [
      ...random.map((value) => square(hex(value))),
      ...random.map((value, index) => {
        const bits = Array.from(
          { length: index % 14 },
          (_, bit) => 1n << BigInt((bit * 29 + index) % 64),
        );
        return square(hex(bits.reduce((hash, bit) => hash ^ bit, value)));
      }),
    ];
    for (const threshold of [2, 10]) {
      expect([...groupSimilar(pictures, threshold)]).toEqual(reference(pictures, threshold));
    }
  });

  it('puts 20,000 equal hashes, and 20,000 near one, into one group', () => {
    const equal = Array.from({ length: 20_000 }, () => square('0123456789abcdef'));
    expect(new Set(groupSimilar(equal, 0))).toEqual(new Set([0]));
    const near = equal.map((picture, index) =>
      index === 0 ? picture : square(hex(0x0123456789abcdefn ^ BigInt(index % 256))),
    );
    expect(new Set(groupSimilar(near, 8))).toEqual(new Set([0]));
  });

  it('does not join pictures of other aspect ratios', () => {
    const wide = { hash: '0123456789abcdef', width: 16, height: 9 };
    expect([...groupSimilar([wide, square(wide.hash)], 16)]).toEqual([0, 1]);
    expect([...groupSimilar([wide, { ...wide, width: 17 }], 0)]).toEqual([0, 0]);
  });
});

it('hashDistance counts different bits', () => {
  expect(hashDistance('0000000000000000', 'ffffffffffffffff')).toBe(64);
  expect(hashDistance('8000000000000000', '0000000000000001')).toBe(2);
  expect(hashDistance('0123456789abcdef', '0123456789abcdef')).toBe(0);
});
