/**
 * Perceptual hashes of 64 bits, which are similar for pictures that look alike: two are compared by the
 * number of different bits. Both read a small grey raster: one byte per pixel, row by row from the top
 * left, scaled without keeping the aspect ratio. They are written as 16 hexadecimal digits; the first
 * bit, for the top left, is the highest.
 */

/** Size of the raster that `differenceHash` reads. */
export const DIFFERENCE_HASH_RASTER = { width: 9, height: 8 } as const;

/** Size of the raster that `perceptualHash` reads. */
export const PERCEPTUAL_HASH_RASTER = { width: 32, height: 32 } as const;

/** Frequencies kept in each direction, from the lowest. */
const FREQUENCIES = 8;
/**
 * Step to which coefficients are rounded. Otherwise rounding errors of sums would decide the bits of
 * equal coefficients and zeros, of which plain and symmetric pictures have many.
 */
const COEFFICIENT_STEP = 1e-6;

const SIZE = PERCEPTUAL_HASH_RASTER.width;

/** The cosine of DCT-II at each frequency (row) for each position (column). */
const COSINES = Float64Array.from({ length: FREQUENCIES * SIZE }, (_, index) => {
  const frequency = Math.floor(index / SIZE);
  const position = index % SIZE;
  return Math.cos((Math.PI * (2 * position + 1) * frequency) / (2 * SIZE));
});

/**
 * dHash: a bit for each pair of horizontal neighbours, row by row, set if the right one is
 * brighter. After N. Krawetz, "Kind of Like That" (hackerfactor.com, 2013), with that article's
 * sense and order of bits, which Python's imagehash shares. `gray` is a DIFFERENCE_HASH_RASTER.
 */
export function differenceHash(gray: Uint8Array): string {
  const { width, height } = DIFFERENCE_HASH_RASTER;
  const bits: boolean[] = [];
  for (let row = 0; row < height; row += 1) {
    for (let left = row * width; left < row * width + width - 1; left += 1) {
      bits.push(gray[left]! < gray[left + 1]!);
    }
  }
  return hexadecimal(bits);
}

/**
 * pHash: the 8 by 8 lowest frequencies of the two-dimensional DCT-II, a bit for each, set if it is
 * above their median. Rows are vertical frequencies, columns horizontal ones. The first coefficient,
 * the mean brightness, has a bit but does not count in the median. After N. Krawetz, "Looks Like It"
 * (hackerfactor.com, 2011), and C. Zauner, "Implementation and Benchmarking of Perceptual Image
 * Hash Functions" (2010), whose median replaces the article's mean. The bits are those of Python's
 * imagehash, which includes the first coefficient: as the greatest of all it leaves the median
 * between the same two neighbours. `gray` is a PERCEPTUAL_HASH_RASTER.
 */
export function perceptualHash(gray: Uint8Array): string {
  const coefficients = lowFrequencies(gray);
  const ordered = coefficients.slice(1).sort();
  const median = ordered[(ordered.length - 1) / 2]!;
  return hexadecimal(Array.from(coefficients, (coefficient) => coefficient > median));
}

/** The transform is separable: first along the rows, then along the columns of the result. */
function lowFrequencies(gray: Uint8Array): Float64Array {
  const rows = Array.from({ length: SIZE }, (_, row) => lowest((x) => gray[row * SIZE + x]!));
  const columns = Array.from({ length: FREQUENCIES }, (_, across) =>
    lowest((y) => rows[y]![across]!),
  );
  return Float64Array.from({ length: FREQUENCIES * FREQUENCIES }, (_, index) => {
    const [down, across] = [Math.floor(index / FREQUENCIES), index % FREQUENCIES];
    return Math.round(columns[across]![down]! / COEFFICIENT_STEP);
  });
}

/** The lowest frequencies of some samples. */
function lowest(sampleAt: (position: number) => number): Float64Array {
  return Float64Array.from({ length: FREQUENCIES }, (_, frequency) => {
    let sum = 0;
    for (let at = 0; at < SIZE; at += 1) sum += sampleAt(at) * COSINES[frequency * SIZE + at]!;
    return sum;
  });
}

function hexadecimal(bits: readonly boolean[]): string {
  const binary = bits.map((bit) => (bit ? '1' : '0')).join('');
  return BigInt(`0b${binary}`)
    .toString(16)
    .padStart(bits.length / 4, '0');
}
