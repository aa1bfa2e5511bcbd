/**
 * Groups of similar hashes, found without comparing all pairs: multi-index hashing after M. Norouzi, A. Punjani
 * and D. J. Fleet, "Fast Exact Search in Hamming Space with Multi-Index Hashing" (2014).
 */

/** A hash is split into so many chunks, each with an index of its own. */
const CHUNKS = 4;
const CHUNK_BITS = 16;

/** Largest threshold: the number of lookups grows steeply with it, and hashes of 64 bits differ by 32 on average. */
export const MAX_THRESHOLD = 16;

/** A picture for `groupSimilar`. */
export interface HashedPicture {
  /** 16 hexadecimal digits. */
  readonly hash: string;
  readonly width: number;
  readonly height: number;
}

/**
 * Largest quotient of two aspect ratios of similar pictures. Hashes are of pictures stretched to a square, so that those
 * of a wide flag and a round logo may be close.
 */
export const MAX_STRETCH = 1.15;

/**
 * Puts pictures into groups. A picture joins the nearest earlier leader of a group within the threshold and
 * MAX_STRETCH, the first of equally near ones, or else leads a group itself. So each member is close to its leader, and
 * no chain of small differences joins pictures that are far apart.
 *
 * @param pictures the best candidates for leaders first
 * @param threshold different bits at most, up to MAX_THRESHOLD
 * @returns for each picture the index of its leader: its own where it leads a group
 */
export function groupSimilar(pictures: readonly HashedPicture[], threshold: number): Int32Array {
  const index = new LeaderIndex(pictures.length, threshold);
  return Int32Array.from(pictures, (picture, own) => index.join(picture, own));
}

/** Number of different bits of two hashes of 16 hexadecimal digits. */
export function hashDistance(one: string, other: string): number {
  const part = (hash: string, start: number) => Number.parseInt(hash.slice(start, start + 8), 16);
  return countBits(part(one, 0) ^ part(other, 0)) + countBits(part(one, 8) ^ part(other, 8));
}

/** Set bits of an integer of 32 bits (H. S. Warren, "Hacker's Delight", 5-1). */
function countBits(value: number): number {
  let bits = value - ((value >>> 1) & 0x5555_5555);
  bits = (bits & 0x3333_3333) + ((bits >>> 2) & 0x3333_3333);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
}

/** The values of a chunk with at most `radius` set bits. */
function valuesWithin(radius: number): Uint16Array {
  const values = radius < 0 ? [] : [0];
  let start = 0;
  for (let bits = 1; bits <= radius; bits += 1) {
    const fewer = values.slice(start);
    start = values.length;
    for (const value of fewer) {
      // Bits are added below the lowest one, so that each value is made once.
      const lowest = value === 0 ? CHUNK_BITS : 31 - Math.clz32(value & -value);
      for (let bit = 0; bit < lowest; bit += 1) values.push(value | (1 << bit));
    }
  }
  return Uint16Array.from(values);
}

/** The leaders of groups, found by any chunk of their hash. */
class LeaderIndex {
  readonly #threshold: number;
  /** Indexes of the leaders' hashes, and the hashes as chunk pairs: bits 0 to 31 and 32 to 63. */
  readonly #leaders: Int32Array;
  readonly #low: Int32Array;
  readonly #high: Int32Array;
  readonly #ratios: Float64Array;
  #count = 0;
  /** By chunk and its value, the last leader with that value; by chunk and leader, the one before. -1 for none. */
  readonly #last: readonly Int32Array[];
  readonly #previous: readonly Int32Array[];
  /** Changes of each chunk that are looked up. */
  readonly #lookups: readonly Uint16Array[];
  readonly #lookupCount: number;

  constructor(capacity: number, threshold: number) {
    this.#threshold = threshold;
    this.#leaders = new Int32Array(capacity);
    this.#low = new Int32Array(capacity);
    this.#high = new Int32Array(capacity);
    this.#ratios = new Float64Array(capacity);
    const chunks = Array.from({ length: CHUNKS }, (_, chunk) => chunk);
    this.#last = chunks.map(() => new Int32Array(2 ** CHUNK_BITS).fill(-1));
    this.#previous = chunks.map(() => new Int32Array(capacity));
    // If every chunk differed by more than its radius, the hashes would differ by more than the threshold,
    // because the radii, each plus one, add up to the threshold plus one.
    this.#lookups = chunks.map((chunk) =>
      valuesWithin(Math.floor((threshold + CHUNKS - chunk) / CHUNKS) - 1),
    );
    this.#lookupCount = this.#lookups.reduce((sum, { length }) => sum + length, 0);
  }

  /** Returns the leader that a picture joins; the picture becomes a leader where there is none. */
  join({ hash, width, height }: HashedPicture, own: number): number {
    const [low, high] = interleaved(hash);
    const ratio = width / height;
    const nearest = this.#nearest(low, high, ratio);
    if (nearest >= 0) return this.#leaders[nearest]!;
    const leader = this.#count;
    this.#count += 1;
    this.#leaders[leader] = own;
    this.#ratios[leader] = ratio;
    this.#low[leader] = low;
    this.#high[leader] = high;
    for (let chunk = 0; chunk < CHUNKS; chunk += 1) {
      const value = chunkOf(low, high, chunk);
      this.#previous[chunk]![leader] = this.#last[chunk]![value]!;
      this.#last[chunk]![value] = leader;
    }
    return own;
  }

  /** The nearest leader within the threshold, the first of equally near ones; -1 for none. */
  #nearest(low: number, high: number, ratio: number): number {
    let nearest = -1;
    let least = this.#threshold;
    const lows = this.#low;
    const highs = this.#high;
    const ratios = this.#ratios;
    const consider = (leader: number) => {
      const distance = countBits(low ^ lows[leader]!) + countBits(high ^ highs[leader]!);
      if (distance > least || (distance === least && nearest >= 0 && leader > nearest)) return;
      const stretch = ratio / ratios[leader]!;
      if (stretch > MAX_STRETCH || 1 / stretch > MAX_STRETCH) return;
      least = distance;
      nearest = leader;
    };
    // Few leaders are compared faster than looked up.
    if (this.#count <= this.#lookupCount) {
      for (let leader = 0; leader < this.#count; leader += 1) consider(leader);
      return nearest;
    }
    for (let chunk = 0; chunk < CHUNKS; chunk += 1) {
      const last = this.#last[chunk]!;
      const previous = this.#previous[chunk]!;
      const own = chunkOf(low, high, chunk);
      for (const change of this.#lookups[chunk]!) {
        let leader = last[own ^ change]!;
        while (leader >= 0) {
          consider(leader);
          leader = previous[leader]!;
        }
      }
    }
    return nearest;
  }
}

function chunkOf(low: number, high: number, chunk: number): number {
  const half = chunk < 2 ? low : high;
  return chunk % 2 === 0 ? half & 0xffff : half >>> 16;
}

/**
 * The bits of a hash in another order, which changes no distance: each chunk gets every fourth bit. A chunk of
 * neighbouring bits would be the same for many pictures, such as those with a plain sky.
 */
function interleaved(hash: string): [low: number, high: number] {
  const chunks = [0, 0, 0, 0];
  for (const digit of hash) {
    const bits = Number.parseInt(digit, 16);
    for (let chunk = 0; chunk < CHUNKS; chunk += 1) {
      chunks[chunk] = (chunks[chunk]! << 1) | ((bits >>> chunk) & 1);
    }
  }
  const [first, second, third, fourth] = chunks as [number, number, number, number];
  return [first | (second << 16), third | (fourth << 16)];
}
