import { deflateSync } from 'node:zlib';
import fc from 'fast-check';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { readAvifColours } from '../../src/images/avif.ts';
import { findRawSamples } from '../../src/images/decoding/samples.ts';
import { completePng } from '../../src/images/png/png.ts';
import { runBatch, runOne } from '../batch.ts';
import { painted, pngChunk, pngOf, type Samples } from '../fixtures/images.ts';
import { displayP3, ORANGE } from '../fixtures/kinds.ts';
import { greyProfile } from '../fixtures/profile.ts';
import { tiffFile } from '../fixtures/tiff.ts';
import { type Order, Writer } from '../images/exif/exif-block.ts';
import { expectColour } from '../pixels.ts';
import { runs } from '../runs.ts';

const SIZE = { width: 16, height: 8 };

/** Chromaticities of cHRM: white, red, green and blue, in parts of 100000. */
const SRGB = [31_270, 32_900, 64_000, 33_000, 30_000, 60_000, 15_000, 6000];
const DISPLAY_P3 = [31_270, 32_900, 68_000, 32_000, 26_500, 69_000, 15_000, 6000];

type Chunk = readonly [name: string, data: Uint8Array];

function numbers(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, index * 4);
  return bytes;
}

const gAMA = (value: number): Chunk => ['gAMA', numbers(value)];
const cHRM = (values: readonly number[]): Chunk => ['cHRM', numbers(...values)];
const cICP = (primaries: number, transfer: number): Chunk => [
  'cICP',
  Buffer.from([primaries, transfer, 0, 1]),
];

/** A PNG with chunks right after its header. */
function tagged(png: Buffer, chunks: readonly Chunk[]): Buffer {
  const written = chunks.map(([name, data]) => pngChunk(name, data));
  return Buffer.concat([png.subarray(0, 33), ...written, png.subarray(33)]);
}

function plain(colour: Samples, deep = false): Promise<Buffer> {
  const samples = colour.map((sample) => (deep ? sample * 257 : sample));
  const channels = colour.length as 1 | 3;
  return pngOf(painted({ ...SIZE, channels, deep }, () => samples));
}

/** A sample of light to the power of `gamma` as sRGB has it (IEC 61966-2-1). */
function toSrgb(sample: number, gamma: number): number {
  const light = (sample / 255) ** gamma;
  const coded = light <= 0.0031308 ? 12.92 * light : 1.055 * light ** (1 / 2.4) - 0.055;
  return Math.round(coded * 255);
}

const GREY = toSrgb(90, 1);

describe('PNG', () => {
  const LINEAR = [200, 100, 50].map((sample) => toSrgb(sample, 1));

  test.each<[string, readonly number[], readonly Chunk[], readonly number[]]>([
    ['a linear gamma', [200, 100, 50], [gAMA(100_000)], LINEAR],
    [
      'a gamma of 1.8',
      [200, 100, 50],
      [gAMA(55_556)],
      [200, 100, 50].map((sample) => toSrgb(sample, 1.8)),
    ],
    ['the gamma and primaries of sRGB', [200, 100, 50], [gAMA(45_455), cHRM(SRGB)], [200, 100, 50]],
    ['primaries of Display P3', ORANGE.p3, [cHRM(DISPLAY_P3)], ORANGE.srgb],
    ['Display P3 by code', ORANGE.p3, [cICP(12, 13)], ORANGE.srgb],
    [
      'sRGB beside a gamma',
      [200, 100, 50],
      [['sRGB', Buffer.from([0])], gAMA(100_000)],
      [200, 100, 50],
    ],
    ['a gamma of nothing', [200, 100, 50], [gAMA(0), cHRM(SRGB.map(() => 0))], [200, 100, 50]],
    ['a grey linear gamma', [90], [gAMA(100_000)], Array.from({ length: 3 }, () => toSrgb(90, 1))],
  ])('with %s is converted to sRGB', async (_, stored, chunks, expected) => {
    const file = tagged(await plain(stored), chunks);
    for (const format of ['png', 'webp']) {
      const args = ['convert', '--format', format, '--lossless'];
      const pixels = await runOne(args, file);
      expectColour(pixels.rgb(3, 3), expected, 1);
      expect(pixels.metadata.hasProfile).toBe(false);
    }
    const { colors } = (await runBatch(['palette'], { 'a.png': file })).record('a.png').data as {
      colors: { hex: string }[];
    };
    const hex = Buffer.from(colors[0]!.hex.slice(1), 'hex');
    expectColour([...hex], expected, 2);
  });

  test('with --metadata icc keeps its samples and gets a profile', async () => {
    const file = tagged(await plain(ORANGE.p3), [cHRM(DISPLAY_P3)]);
    for (const policy of ['icc', 'all']) {
      const args = ['convert', '--format', 'webp', '--lossless', '--metadata', policy];
      const pixels = await runOne(args, file);
      expectColour(pixels.rgb(3, 3), ORANGE.p3);
      expectColour(
        [...(await sharp(pixels.bytes).raw().toBuffer()).subarray(0, 3)],
        ORANGE.srgb,
        1,
      );
    }
    const metadata = await runBatch(['metadata'], { 'a.png': file });
    expect(metadata.record('a.png').data).toMatchObject({ hasProfile: false });
  });

  test('with a linear gamma is converted to sRGB in 16 bits', async () => {
    const file = tagged(await plain([200, 100, 50], true), [gAMA(100_000)]);
    const pixels = await runOne(['convert', '--format', 'png'], file);
    expect(pixels.deep).toBe(true);
    expectColour(
      pixels.rgb(3, 3).map((sample) => Math.round(sample / 257)),
      LINEAR,
      2,
    );
  });

  test('of a high dynamic range is read as sRGB, with a warning', async () => {
    const file = tagged(await plain([200, 100, 50]), [cICP(9, 16)]);
    const pixels = await runOne(['convert', '--format', 'png'], file);
    expect(pixels.warnings).toEqual(['colours_not_converted']);
    expectColour(pixels.rgb(3, 3), [200, 100, 50]);
  });

  test.each(['png', 'tiff', 'avif', 'jpeg', 'webp', 'gif'])(
    'of 16-bit grey is converted in %s',
    async (format) => {
      const file = tagged(await plain([90], true), [gAMA(100_000)]);
      const pixels = await runOne(['convert', '--format', format], file);
      const shown = pixels.rgb(3, 3).map((sample) => (pixels.deep ? sample / 257 : sample));
      expectColour(shown, [GREY, GREY, GREY], 1.5);
      expect(pixels.warnings).toEqual([]);
    },
  );

  test('of 16-bit grey is converted once by steps, and kept with its profile', async () => {
    const file = tagged(await plain([90], true), [gAMA(100_000)]);
    for (const args of [['rotate', '--angle', '90'], ['resize', '--width', '8'], ['trim']]) {
      const pixels = await runOne(args, file);
      expectColour(
        pixels.rgb(1, 1).map((sample) => sample / 257),
        [GREY, GREY, GREY],
        1.5,
      );
      expect(pixels.warnings).toEqual([]);
    }
    const kept = await runOne(['convert', '--format', 'png', '--metadata', 'icc'], file);
    expect([kept.metadata.hasProfile, kept.rgb(3, 3)[0], kept.warnings]).toEqual([
      true,
      90 * 257,
      [],
    ]);
  });

  test('of 16-bit grey with a profile is converted, of 8-bit grey also to colours', async () => {
    const profiled = async (deep: boolean) => {
      const data = Buffer.concat([Buffer.from('grey\0\0'), deflateSync(greyProfile(1))]);
      return tagged(await plain([90], deep), [['iCCP', data]]);
    };
    const deep = await runOne(['convert', '--format', 'tiff'], await profiled(true));
    const gif = await runOne(['convert', '--format', 'gif'], await profiled(false));
    expectColour(
      deep.rgb(3, 3).map((sample) => sample / 257),
      [GREY, GREY, GREY],
      1.5,
    );
    expectColour(gif.rgb(3, 3), [GREY, GREY, GREY], 1);
    expect([deep.warnings, gif.warnings]).toEqual([[], []]);
  });
});

/** Four columns of 0, 64, 200 and 255 in limited range, without colour: avifenc -y 400 -r limited. */
const LIMITED = Buffer.from(
  'AAAAHGZ0eXBhdmlmAAAAAGF2aWZtaWYxbWlhZgAAAPBtZXRhAAAAAAAAAChoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAA' +
    'AAAAbGliYXZpZgAAAAAOcGl0bQAAAAAAAQAAAB5pbG9jAAAAAEQAAAEAAQAAAAEAAAEUAAAAIgAAAChpaW5mAAAAAAAB' +
    'AAAAGmluZmUCAAAAAAEAAGF2MDFDb2xvcgAAAABoaXBycAAAAElpcGNvAAAAFGlzcGUAAAAAAAAAIAAAAAgAAAAOcGl4' +
    'aQAAAAABCAAAAAxhdjFDgQAcAAAAABNjb2xybmNseAABAA0ABgAAAAAXaXBtYQAAAAAAAAABAAEEAQKDBAAAACptZGF0' +
    'EgAKCBgQv9hgIaDEMhQQAKMg/j0alMLLvN6ZErheLjMccA==',
  'base64',
);

/** Where a box nclx begins its code points. */
const codeOf = (avif: Buffer) => avif.indexOf('nclx') + 4;

test('palette returns sRGB colours for any depth', async () => {
  const batch = await runBatch(['palette'], {
    ...(await displayP3()),
    'grey.png': tagged(await plain([90], true), [gAMA(100_000)]),
  });
  const first = (name: string) => {
    const { colors } = batch.record(name).data as { colors: { hex: string }[] };
    return [...Buffer.from(colors[0]!.hex.slice(1), 'hex')];
  };
  for (const name of Object.keys(await displayP3())) expectColour(first(name), ORANGE.srgb, 2);
  expectColour(
    first('grey.png'),
    Array.from({ length: 3 }, () => toSrgb(90, 1)),
    2,
  );
});

describe('AVIF', () => {
  test('of limited range and grey spans black to white', async () => {
    for (const format of ['png', 'webp', 'jpeg']) {
      const quality = format === 'jpeg' ? ['--quality', '95'] : [];
      const pixels = await runOne(['convert', '--format', format, ...quality], LIMITED, 'a.avif');
      for (const [column, grey] of [0, 64, 200, 255].entries()) {
        expectColour(pixels.rgb(column * 8 + 4, 4), [grey, grey, grey], 3, `${format} ${column}`);
      }
    }
    const { colors } = (await runBatch(['palette', '--count', '4'], { 'a.avif': LIMITED })).record(
      'a.avif',
    ).data as { colors: { hex: string }[] };
    expect(colors.map(({ hex }) => hex)).toEqual(expect.arrayContaining(['#000000', '#ffffff']));
  });

  test('is cropped and rotated with the given background', async () => {
    const args = [
      'resize',
      '--width',
      '32',
      '--height',
      '32',
      '--fit',
      'contain',
      '--format',
      'png',
    ];
    const pixels = await runOne([...args, '--background', '#406080'], LIMITED, 'a.avif');
    expectColour(pixels.rgb(4, 2), [0x40, 0x60, 0x80]);
    expectColour(pixels.rgb(28, 16), [255, 255, 255], 1);
  });

  test.each([false, true])(
    'of coded Display P3 is converted to sRGB, 10 bits: %s',
    async (deep) => {
      const samples = ORANGE.p3.map((sample) => (deep ? sample * 257 : sample));
      const avif = await painted({ width: 32, height: 32, deep }, () => samples)
        .avif({ lossless: true, effort: 0, bitdepth: deep ? 10 : 8 })
        .toBuffer();
      avif.writeUInt16BE(12, codeOf(avif));
      avif.writeUInt16BE(13, codeOf(avif) + 2);
      const args = ['convert', '--format', 'png'];
      const pixels = await runOne(args, avif, 'a.avif');
      const rgb = pixels.rgb(9, 9).map((sample) => (deep ? Math.round(sample / 257) : sample));
      expectColour(rgb, ORANGE.srgb, 2);
      const kept = await runOne([...args, '--metadata', 'icc'], avif, 'a.avif');
      expect(kept.metadata.hasProfile).toBe(true);
      avif.writeUInt16BE(18, codeOf(avif) + 2);
      const high = await runOne(args, avif, 'a.avif');
      expect(high.warnings).toEqual(['colours_not_converted']);
    },
  );
});

/** Luma and chroma of a colour by ITU-T T.871, then put into a range. */
function ycbcr([red, green, blue]: readonly number[], range: readonly number[]): number[] {
  const y = 0.299 * red! + 0.587 * green! + 0.114 * blue!;
  const parts = [y / 255, (blue! - y) / 1.772 / 127, (red! - y) / 1.402 / 127];
  return parts.map((part, index) => {
    const [zero, full] = range.slice(index * 2) as [number, number];
    return Math.round(zero + part * (full - zero));
  });
}

describe('YCbCr TIFF without JPEG compression', () => {
  const FULL = [0, 255, 128, 255, 128, 255];
  const VIDEO = [16, 235, 128, 240, 128, 240];
  const COLOURS = [
    [200, 100, 50],
    [20, 220, 90],
    [255, 255, 255],
    [0, 0, 0],
  ];
  const file = (order: Order, range: readonly number[], subsampling = 1) => {
    const writer = new Writer(order);
    const entries = {
      262: writer.shorts(6),
      530: writer.shorts(subsampling, subsampling),
      ...(range === VIDEO && {
        532: writer.rationals(...range.map((value) => [value, 1] as const)),
      }),
    };
    const paint = (x: number) => ycbcr(COLOURS[Math.floor(x / 4)]!, range);
    return tiffFile(writer, SIZE, paint, { entries });
  };

  test.each<[Order, string, readonly number[]]>([
    ['little', 'full', FULL],
    ['big', 'full', FULL],
    ['little', 'video', VIDEO],
  ])('%s-endian, of %s range, has the right colours', async (order, _, range) => {
    for (const format of ['png', 'tiff']) {
      const pixels = await runOne(['convert', '--format', format], file(order, range), 'a.tiff');
      for (const [column, colour] of COLOURS.entries()) {
        expectColour(pixels.rgb(column * 4 + 2, 4), colour, 2, `${format} ${column}`);
      }
    }
  });

  test('with subsampling is refused, except by metadata', async () => {
    const files = { 'a.tiff': file('little', FULL, 2) };
    const converted = await runBatch(['convert', '--format', 'png'], files);
    expect(converted.record('a.tiff').error).toMatchObject({
      code: 'unsupported_format',
      message: expect.stringContaining('subsampled 2x2'),
    });
    const metadata = await runBatch(['metadata'], files);
    expect(metadata.record('a.tiff').data).toMatchObject(SIZE);
  });
});

test('any bytes are read without an exception', async () => {
  const png = tagged(await plain([1, 2, 3]), [gAMA(100_000), cHRM(DISPLAY_P3), cICP(12, 13)]);
  const writer = new Writer('big');
  const tiff = tiffFile(writer, SIZE, () => [1, 2, 3], { entries: { 262: writer.shorts(6) } });
  const damaged = fc
    .tuple(
      fc.constantFrom(png, LIMITED, tiff),
      fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { maxLength: 20 }),
      fc.nat(400),
    )
    .map(([whole, changes, cut]) => {
      const bytes = Uint8Array.from(whole.subarray(0, whole.length - cut));
      for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value;
      return bytes;
    });
  fc.assert(
    fc.property(damaged, (bytes) => {
      completePng(bytes);
      readAvifColours(bytes);
      findRawSamples('avif', bytes, false);
      findRawSamples('tiff', bytes, false);
    }),
    { numRuns: runs(1000) },
  );
});
