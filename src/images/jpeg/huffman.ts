import { damaged } from './segments.ts';

/** Bits of a code that one look-up decodes; longer codes are rare. */
export const LOOKUP_BITS = 10;

const MAX_CODE_BITS = 16;

/** Lengths and symbols of a Huffman table as in DHT (T.81, B.2.4.2). */
export interface CodeLengths {
  /** Number of codes by length less one. */
  readonly counts: Uint8Array;
  readonly symbols: Uint8Array;
}

export type DecodingTable = Readonly<ReturnType<typeof decodingTable>>;

/** @throws Failure corrupt_image for lengths that are no prefix code */
export function decodingTable({ counts, symbols }: CodeLengths) {
  /** Length << 8 | symbol by the next LOOKUP_BITS bits; 0 for longer codes and for none. */
  const lookup = new Uint16Array(1 << LOOKUP_BITS);
  /** By length: one more than its largest code, shifted to 16 bits. */
  const limits = new Int32Array(MAX_CODE_BITS + 1);
  /** By length: what to add to a code for the index of its symbol. */
  const offsets = new Int32Array(MAX_CODE_BITS + 1);
  let code = 0;
  let index = 0;
  for (let length = 1; length <= MAX_CODE_BITS; length += 1) {
    const count = counts[length - 1]!;
    offsets[length] = index - code;
    if (length <= LOOKUP_BITS) {
      const span = 1 << (LOOKUP_BITS - length);
      for (let one = 0; one < count; one += 1) {
        const start = (code + one) * span;
        lookup.fill((length << 8) | symbols[index + one]!, start, start + span);
      }
    }
    code += count;
    index += count;
    if (code > 1 << length) throw damaged('a Huffman table is invalid');
    limits[length] = code << (MAX_CODE_BITS - length);
    code <<= 1;
  }
  return { lookup, limits, offsets, symbols };
}

/**
 * Lengths of the best codes for symbols that occur so often (annex K.2). The code of ones only is left free, and
 * no code is longer than 16 bits.
 */
export function bestLengths(frequencies: Uint32Array): CodeLengths {
  const weights = Float64Array.from({ length: 257 }, (_, symbol) => frequencies[symbol] ?? 0);
  // Reserves the code of ones only: of the longest codes, the last is that of a symbol that never occurs.
  weights[256] = 1;
  const lengths = new Uint8Array(257);
  const next = new Int16Array(257).fill(-1);
  for (;;) {
    const one = lightest(weights, -1);
    const other = lightest(weights, one);
    if (other < 0) break;
    weights[one]! += weights[other]!;
    weights[other] = 0;
    let last = one;
    for (; ; last = next[last]!) {
      lengths[last]! += 1;
      if (next[last]! < 0) break;
    }
    next[last] = other;
    for (let member = other; member >= 0; member = next[member]!) lengths[member]! += 1;
  }
  const counts = new Uint32Array(257);
  for (const length of lengths) if (length > 0) counts[length]! += 1;
  for (let length = 256; length > MAX_CODE_BITS; length -= 1) {
    while (counts[length]! > 0) {
      let shorter = length - 2;
      while (counts[shorter] === 0) shorter -= 1;
      counts[length]! -= 2;
      counts[length - 1]! += 1;
      counts[shorter + 1]! += 2;
      counts[shorter]! -= 1;
    }
  }
  let longest = MAX_CODE_BITS;
  while (counts[longest] === 0) longest -= 1;
  counts[longest]! -= 1;
  const symbols = Array.from({ length: 256 }, (_, symbol) => symbol)
    .filter((symbol) => lengths[symbol]! > 0)
    .sort((left, right) => lengths[left]! - lengths[right]! || left - right);
  return {
    counts: Uint8Array.from(counts.subarray(1, MAX_CODE_BITS + 1)),
    symbols: Uint8Array.from(symbols),
  };
}

/** The symbol of the smallest weight above 0, of equal ones the last; -1 if there is none. */
function lightest(weights: Float64Array, except: number): number {
  let found = -1;
  for (let symbol = 0; symbol < weights.length; symbol += 1) {
    const weight = weights[symbol]!;
    if (weight > 0 && symbol !== except && (found < 0 || weight <= weights[found]!)) found = symbol;
  }
  return found;
}

/** Code << 5 | length by symbol (annex C.2). */
export function codesOf({ counts, symbols }: CodeLengths): Uint32Array {
  const codes = new Uint32Array(256);
  let code = 0;
  let index = 0;
  for (let length = 1; length <= MAX_CODE_BITS; length += 1) {
    for (let left = counts[length - 1]!; left > 0; left -= 1) {
      codes[symbols[index]!] = (code << 5) | length;
      code += 1;
      index += 1;
    }
    code <<= 1;
  }
  return codes;
}

const bytesOf = (hexadecimal: string) => Uint8Array.from(Buffer.from(hexadecimal, 'hex'));

const table = (counts: string, symbols: string): CodeLengths => ({
  counts: bytesOf(counts),
  symbols: bytesOf(symbols),
});

/** Symbols of both tables for DC: categories 0 to 11. */
const CATEGORIES = '000102030405060708090a0b';

/** The typical tables of T.81 (annex K.3.3): those of luminance have number 0, those of chrominance 1. */
const TABLES = {
  dc: [
    table('00010501010101010100000000000000', CATEGORIES),
    table('00030101010101010101010000000000', CATEGORIES),
  ],
  ac: [
    table(
      '0002010303020403050504040000017d',
      [
        '01020300041105122131410613516107227114328191a1082342b1c11552d1f02433627282090a161718191a25262728',
        '292a3435363738393a434445464748494a535455565758595a636465666768696a737475767778797a83848586878889',
        '8a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae1e2',
        'e3e4e5e6e7e8e9eaf1f2f3f4f5f6f7f8f9fa',
      ].join(''),
    ),
    table(
      '00020102040403040705040400010277',
      [
        '000102031104052131061241510761711322328108144291a1b1c109233352f0156272d10a162434e125f11718191a26',
        '2728292a35363738393a434445464748494a535455565758595a636465666768696a737475767778797a828384858687',
        '88898a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9da',
        'e2e3e4e5e6e7e8e9eaf2f3f4f5f6f7f8f9fa',
      ].join(''),
    ),
  ],
} as const;

const made = new Map<CodeLengths, DecodingTable>();

/** The table that a frame of Motion JPEG uses without having it; undefined for other numbers. */
export function standardTable(kind: 'dc' | 'ac', number: number): DecodingTable | undefined {
  const lengths = TABLES[kind][number];
  if (!lengths) return undefined;
  const known = made.get(lengths) ?? decodingTable(lengths);
  made.set(lengths, known);
  return known;
}
