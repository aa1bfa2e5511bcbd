/**
 * Perceptual hashes of 64 bits, which are similar for pictures that look alike: two are compared by the
 * number of different bits. Both read a small grey raster: one byte per pixel, row by row from the top
 * left, scaled without keeping the aspect ratio. They are written as 16 hexadecimal digits; the first
 * bit, for the top left, is the highest.
 */

interface Raster {
  readonly width: number;
  readonly height: number;
}

/** Size of the raster that `differenceHash` reads. */
export const DIFFERENCE_HASH_RASTER: Raster = { width: 9, height: 8 };

/** Size of the raster that `perceptualHash` reads. */
export const PERCEPTUAL_HASH_RASTER: Raster = { width: 32, height: 32 };

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
  assertSize(gray, DIFFERENCE_HASH_RASTER);
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
  assertSize(gray, PERCEPTUAL_HASH_RASTER);
  const coefficients = lowFrequencies(gray);
  const ordered = coefficients.slice(1).sort();
  const median = ordered[(ordered.length - 1) / 2]!;
  return hexadecimal(Array.from(coefficients, (coefficient) => coefficient > median));
}

/** The transform is separable: first along the rows, then along the columns of the result. */
function lowFrequencies(gray: Uint8Array): Float64Array {
  const alongRows = new Float64Array(SIZE * FREQUENCIES);
  for (let row = 0; row < SIZE; row += 1) {
    for (let across = 0; across < FREQUENCIES; across += 1) {
      let sum = 0;
      for (let x = 0; x < SIZE; x += 1) sum += gray[row * SIZE + x]! * COSINES[across * SIZE + x]!;
      alongRows[row * FREQUENCIES + across] = sum;
    }
  }
  const coefficients = new Float64Array(FREQUENCIES * FREQUENCIES);
  for (let down = 0; down < FREQUENCIES; down += 1) {
    for (let across = 0; across < FREQUENCIES; across += 1) {
      let sum = 0;
      for (let y = 0; y < SIZE; y += 1) {
        sum += alongRows[y * FREQUENCIES + across]! * COSINES[down * SIZE + y]!;
      }
      coefficients[down * FREQUENCIES + across] = Math.round(sum / COEFFICIENT_STEP);
    }
  }
  return coefficients;
}

function assertSize(gray: Uint8Array, { width, height }: Raster): void {
  if (gray.length === width * height) return;
  throw new RangeError(
    `expected a grey raster of ${width}x${height} (${width * height} bytes), got ${gray.length} bytes`,
  );
}

function hexadecimal(bits: readonly boolean[]): string {
  const binary = bits.map((bit) => (bit ? '1' : '0')).join('');
  return BigInt(`0b${binary}`)
    .toString(16)
    .padStart(bits.length / 4, '0');
}
