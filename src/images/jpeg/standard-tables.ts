import { type CodeLengths, type DecodingTable, decodingTable } from './huffman.ts';

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
