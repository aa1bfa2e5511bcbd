import fc from 'fast-check';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { exifOfTiff, tiffWithMetadata } from '../../../src/images/exif/copy.ts';
import { readExif } from '../../../src/images/exif/exif.ts';
import { quadrants } from '../../fixtures/images.ts';
import { tiffFile } from '../../fixtures/tiff.ts';
import { type Directory, type Order, Writer } from './exif-block.ts';

const SIZE = { width: 12, height: 8 };

/** One value of each type with a byte order, short and long. */
function description(writer: Writer): Directory {
  return {
    entries: {
      270: writer.ascii('odd'),
      271: writer.ascii('Acme of Nowhere'),
      33432: writer.ascii('A. Artist\0The Editor'),
    },
    pointers: {
      34665: {
        entries: {
          33434: writer.rationals([1, 160]),
          34855: writer.shorts(400, 800, 1600),
          37380: writer.srationals([-1, 3]),
          37396: writer.shorts(7, 9),
          37500: writer.undefined(Array.from({ length: 301 }, (_, index) => index % 256)),
          40962: writer.longs(4000),
          42240: writer.double(2.25),
        },
        pointers: { 40965: { entries: { 1: writer.ascii('R98') } } },
      },
      34853: { entries: { 1: writer.ascii('S'), 2: writer.rationals([33, 1], [51, 1], [7, 2]) } },
    },
  };
}

describe.each<Order>(['little', 'big'])('%s-endian tags', (order) => {
  const writer = new Writer(order);
  const block = writer.block(description(writer));
  const expected = readExif(block)!;

  test('are copied from a TIFF file without those that describe the file', () => {
    const own = description(writer);
    const entries = {
      ...own.entries,
      274: writer.shorts(6),
      282: writer.rationals([300, 1]),
      700: writer.bytes(...Buffer.from('<x:xmpmeta/>')),
    };
    const file = tiffFile(writer, SIZE, () => [1, 2, 3], { ...own, entries });
    const exif = exifOfTiff(file)!;
    expect(readExif(exif)).toEqual(expected);
    const maker = Buffer.from(Array.from({ length: 301 }, (_, index) => index % 256));
    expect(Buffer.from(exif).includes(maker)).toBe(true);
  });

  test('are added to a TIFF file, whose pixels and tags do not change', async () => {
    const plain = await quadrants(SIZE).withDensity(200).tiff({ compression: 'lzw' }).toBuffer();
    const prefixed = Buffer.concat([Buffer.from('Exif\0\0', 'latin1'), block]);
    for (const exif of [block, prefixed]) {
      const file = tiffWithMetadata(plain, { exif, photoshop: null });
      expect(readExif(exifOfTiff(file)!)).toEqual(expected);
      const { density } = await sharp(file).metadata();
      expect(density).toBe(200);
      expect(await sharp(file).raw().toBuffer()).toEqual(await sharp(plain).raw().toBuffer());
    }
  });
});

test('a TIFF file with added tags of any type decodes without a warning', async () => {
  const plain = await quadrants(SIZE).tiff({ compression: 'lzw' }).toBuffer();
  const writer = new Writer('little');
  const values = [
    { type: 2, count: 8, bytes: [65, 0, 66, 0, 67, 68, 69, 0] },
    { type: 2, count: 5, bytes: [65, 66, 67, 68, 69] },
    { ...writer.ascii('Ösen'), type: 129 },
    writer.shorts(3, 4, 5),
    writer.rationals([1, 0]),
    writer.bytes(1, 2),
  ];
  for (const tag of [11, 270, 271, 306, 33432, 33434, 36867, 40091]) {
    for (const value of values) {
      const exif = writer.block({ entries: { [tag]: value, 316: writer.ascii('host') } });
      const file = tiffWithMetadata(plain, { exif, photoshop: null });
      expect(readExif(exifOfTiff(file)!)?.image['HostComputer']).toBe('host');
      await expect(sharp(file).raw().toBuffer(), `${tag}`).resolves.toBeDefined();
    }
  }
});

test('a TIFF file without descriptive tags has no EXIF', async () => {
  expect(exifOfTiff(await quadrants(SIZE).tiff().toBuffer())).toBeNull();
});

test('exifOfTiff and tiffWithMetadata accept any bytes', () => {
  const header = fc.constantFrom('II*\0\x08\0\0\0', 'MM\0*\0\0\0\x08', '');
  const writer = new Writer('big');
  const honest = writer.block(description(writer));
  const damaged = fc
    .array(fc.tuple(fc.nat(honest.length - 1), fc.nat(255)), { maxLength: 20 })
    .map((changes) => {
      const bytes = Uint8Array.from(honest);
      for (const [at, value] of changes) bytes[at] = value;
      return bytes;
    });
  const random = fc
    .tuple(header, fc.uint8Array({ maxLength: 400 }))
    .map(([start, rest]) => Buffer.concat([Buffer.from(start, 'latin1'), rest]));
  fc.assert(
    fc.property(fc.oneof(damaged, random), (bytes) => {
      const exif = exifOfTiff(bytes);
      // Each value is copied once: at most the original bytes, a header, and those of a directory.
      if (exif) expect(exif.length).toBeLessThanOrEqual(bytes.length * 3 + 100);
    }),
  );
});
