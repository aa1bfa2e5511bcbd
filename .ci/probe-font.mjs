// Writes config/fonts/probe.ttf: a font with one glyph, four times as wide as high, for U+10FFFD (private use).
// src/images/layers/fonts.ts asks for it after the font of the user, and sees by its width that the latter is missing.
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const FAMILY = 'Oriel Probe';
const UNITS = 1000;
const WIDTH = 4 * UNITS;
const CHARACTER = 0x10fffd;

const u16 = (...values) => {
  const bytes = Buffer.alloc(values.length * 2);
  for (const [index, value] of values.entries()) bytes.writeUInt16BE(value & 0xffff, index * 2);
  return bytes;
};
const u32 = (...values) => {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value >>> 0, index * 4);
  return bytes;
};

const glyph = Buffer.concat([
  u16(1, 0, 0, WIDTH, UNITS, 3, 0),
  Buffer.from([1, 1, 1, 1]),
  u16(0, WIDTH, 0, -WIDTH, 0, 0, UNITS, 0),
]);
const groups = Buffer.concat([u16(12, 0), u32(28, 0, 1, CHARACTER, CHARACTER, 1)]);
const basic = u16(4, 24, 0, 2, 2, 0, 0, 0xffff, 0, 0xffff, 1, 0);
const text = Buffer.from(FAMILY, 'utf16le').swap16();
const names = [
  [1, text],
  [2, Buffer.from('Regular', 'utf16le').swap16()],
  [4, text],
  [6, Buffer.from('OrielProbe', 'utf16le').swap16()],
];
let offset = 0;
const records = names.map(([id, value]) => {
  const record = u16(3, 1, 0x409, id, value.length, offset);
  offset += value.length;
  return record;
});
const tables = {
  'OS/2': Buffer.concat([
    u16(4, WIDTH, 400, 5, 0, 650, 700, 0, 140, 650, 700, 0, 480, 50, 258, 0),
    Buffer.alloc(10),
    u32(0, 0, 0, 0),
    Buffer.from('ORIE'),
    u16(0x40, 0xffff, 0xffff, UNITS, 0, 0, UNITS, 0),
    u32(0, 0),
    u16(500, 700, 0, 32, 1),
  ]),
  cmap: Buffer.concat([u16(0, 2, 3, 1), u32(20), u16(3, 10), u32(44), basic, groups]),
  glyf: glyph,
  head: Buffer.concat([
    u32(0x00010000, 0x00010000, 0, 0x5f0f3cf5),
    u16(3, UNITS),
    u32(0, 0, 0, 0),
    u16(0, 0, WIDTH, UNITS, 0, 8, 2, 1, 0),
  ]),
  hhea: Buffer.concat([
    u32(0x00010000),
    u16(UNITS, 0, 0, WIDTH, 0, 0, WIDTH, 1, 0, 0, 0, 0, 0, 0, 0, 2),
  ]),
  hmtx: u16(WIDTH, 0, WIDTH, 0),
  loca: u32(0, 0, glyph.length),
  maxp: Buffer.concat([u32(0x00010000), u16(2, 4, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0)]),
  name: Buffer.concat([
    u16(0, names.length, 6 + 12 * names.length),
    ...records,
    ...names.map(([, value]) => value),
  ]),
  post: u32(0x00030000, 0, 0, 0, 0, 0, 0, 0),
};

const checksum = (bytes) => {
  let sum = 0;
  for (let at = 0; at < bytes.length; at += 4) sum = (sum + bytes.readUInt32BE(at)) >>> 0;
  return sum;
};
const entries = Object.entries(tables);
const directory = [u32(0x00010000), u16(entries.length, 128, 3, entries.length * 16 - 128)];
const bodies = [];
let at = 12 + 16 * entries.length;
for (const [tag, table] of entries) {
  const body = Buffer.concat([table, Buffer.alloc((4 - (table.length % 4)) % 4)]);
  directory.push(Buffer.from(tag), u32(checksum(body), at, table.length));
  bodies.push(body);
  at += body.length;
}
const root = dirname(dirname(fileURLToPath(import.meta.url)));
writeFileSync(join(root, 'config', 'fonts', 'probe.ttf'), Buffer.concat([...directory, ...bodies]));
