import { deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { readExif } from '../../src/images/exif/exif.ts';
import { runBatch, runOne } from '../batch.ts';
import {
  animatedWebp,
  BLUE,
  GREEN,
  painted,
  pngChunk,
  pngOf,
  quadrants,
  RED,
  storedAs,
} from '../fixtures/images.ts';
import { displayP3, frames, isDisplayP3, ORANGE, TIMING } from '../fixtures/kinds.ts';
import { tiffFile } from '../fixtures/tiff.ts';
import { type Directory, Writer } from '../images/exif/exif-block.ts';
import { decode, expectColour, quarters } from '../pixels.ts';

const SIZE = { width: 48, height: 32 };
/** As they are stored: a quarter turn counterclockwise. */
const STORED = { width: 32, height: 48 };

/** Stored on its side, by a camera, in a place. */
function description(writer: Writer): Directory {
  return {
    entries: {
      271: writer.ascii('Acme'),
      274: writer.shorts(6),
      33432: writer.ascii('Somebody'),
    },
    pointers: {
      34665: { entries: { 33437: writer.rationals([28, 10]), 42036: writer.ascii('Long lens') } },
      34853: {
        entries: {
          1: writer.ascii('N'),
          2: writer.rationals([51, 1], [30, 1], [0, 1]),
          3: writer.ascii('W'),
          4: writer.rationals([0, 1], [15, 1], [0, 1]),
        },
      },
    },
  };
}

/** The same picture with its EXIF in each place where libvips does not find it. */
async function hiddenExif(): Promise<Record<string, Buffer>> {
  const writer = new Writer('big');
  const exif = writer.block(description(writer));
  const stored = await storedAs(quadrants(SIZE), 6);
  const plain = await pngOf(sharp(await pngOf(stored)));
  const head = plain.subarray(0, 33);
  const rest = plain.subarray(33);
  const end = plain.length - 12;
  const digits = Buffer.concat([Buffer.from('Exif\0\0', 'latin1'), exif]).toString('hex');
  const lines = digits.replace(/.{72}/g, '$&\n');
  const text = Buffer.from(`\nexif\n${String(exif.length + 6).padStart(8)}\n${lines}\n`);
  const keyword = (name: string) => Buffer.from(`Raw profile type ${name}\0`, 'latin1');
  const textChunk = pngChunk('tEXt', Buffer.concat([keyword('exif'), text]));
  const compressed = pngChunk(
    'zTXt',
    Buffer.concat([keyword('APP1'), Buffer.alloc(1), deflateSync(text)]),
  );
  const paint = (x: number, y: number) => {
    const upper = y < STORED.height / 2;
    if (x < STORED.width / 2) return upper ? GREEN : RED;
    return upper ? [255, 255, 255] : BLUE;
  };
  return {
    'behind.png': Buffer.concat([
      plain.subarray(0, end),
      pngChunk('eXIf', exif),
      plain.subarray(end),
    ]),
    'text.png': Buffer.concat([head, textChunk, rest]),
    'text-behind.png': Buffer.concat([plain.subarray(0, end), compressed, plain.subarray(end)]),
    'little.tiff': tiffFile(new Writer('little'), STORED, paint, description(new Writer('little'))),
    'big.tiff': tiffFile(writer, STORED, paint, description(writer)),
  };
}

describe('EXIF that libvips does not read', () => {
  test('is reported, with orientation and position', async () => {
    const files = await hiddenExif();
    const full = await runBatch(['metadata', '--exif', 'full', '--gps'], files);
    const basic = await runBatch(['metadata'], files);
    for (const name of Object.keys(files)) {
      expect(full.record(name).data, name).toMatchObject({
        ...SIZE,
        storedWidth: 32,
        orientation: 6,
        exif: {
          image: { Make: 'Acme', Copyright: 'Somebody' },
          photo: { FNumber: 2.8, LensModel: 'Long lens' },
        },
        gps: { latitude: 51.5, longitude: -0.25 },
      });
      const { exif } = basic.record(name).data as { exif: object };
      expect(exif, name).toMatchObject({ make: 'Acme', lens: 'Long lens', copyright: 'Somebody' });
    }
  });

  test('orients the image, and is dropped by default', async () => {
    const files = await hiddenExif();
    const batch = await runBatch(['convert', '--format', 'png'], files);
    for (const [name, pixels] of await batch.decoded(files)) {
      expect([pixels.width, quarters(pixels)], name).toEqual([48, 'RGBW']);
      expect(batch.bytes(name).includes('Acme'), name).toBe(false);
      expect(batch.bytes(name).includes('Raw profile'), name).toBe(false);
    }
  });

  test.each(['jpeg', 'png', 'webp', 'avif', 'tiff'])(
    'is kept in %s with --metadata all',
    async (format) => {
      const files: Record<string, Buffer> = await hiddenExif();
      files['deep.tiff'] = await sharp(files['little.tiff']!)
        .autoOrient()
        .toColourspace('rgb16')
        .tiff({ compression: 'lzw' })
        .toBuffer();
      files['usual.jpg'] = await (await storedAs(quadrants(SIZE), 6))
        .withExifMerge({
          IFD0: { Make: 'Acme', Copyright: 'Somebody' },
          IFD2: { FNumber: '28/10' },
        })
        .jpeg({ quality: 95 })
        .toBuffer();
      const args = ['convert', '--format', format, '--metadata', 'all'];
      const batch = await runBatch(args, files);
      const outputs = Object.fromEntries(
        Object.keys(files).map((name) => [`${name}.${format}`, batch.bytes(name)]),
      );
      const metadata = await runBatch(['metadata', '--exif', 'full'], outputs);
      for (const [name, pixels] of await batch.decoded(files)) {
        expect([pixels.width, quarters(pixels)], name).toEqual([48, 'RGBW']);
        expect(pixels.metadata.orientation ?? 1, name).toBe(1);
        expect(batch.warnings(name), name).toEqual([]);
        if (name === 'deep.tiff') continue;
        expect(metadata.record(`${name}.${format}`).data, name).toMatchObject({
          exif: { image: { Make: 'Acme', Copyright: 'Somebody' }, photo: { FNumber: 2.8 } },
        });
      }
    },
  );

  test('is reduced to its copyright with --metadata copyright', async () => {
    const files = await hiddenExif();
    const batch = await runBatch(['convert', '--format', 'jpeg', '--metadata', 'copyright'], files);
    for (const name of Object.keys(files)) {
      const { exif } = (await batch.pixels(name)).metadata;
      expect(readExif(exif!)?.image, name).toMatchObject({ Copyright: 'Somebody' });
      expect(batch.bytes(name).includes('Acme'), name).toBe(false);
    }
  });

  test.each(['jpeg', 'png', 'webp', 'avif'])(
    'keeps letters beyond ASCII of the copyright: %s',
    async (format) => {
      const named = ['edit-metadata', '--set', 'Copyright=Zoë Ünal', '--set', 'Make=Acme'];
      const jpeg = await quadrants(SIZE).jpeg().toBuffer();
      const { bytes } = await runOne(named, jpeg, 'a.jpg');
      const args = ['convert', '--format', format, '--metadata', 'copyright'];
      const { metadata } = await runOne(args, bytes, 'a.jpg');
      const { image } = readExif(metadata.exif!)!;
      expect(image).toMatchObject({ Copyright: 'Zoë Ünal' });
      expect(image).not.toHaveProperty('Make');
    },
  );

  test('keeps letters beyond ASCII of the copyright of an animation', async () => {
    const webp = await animatedWebp(frames(), TIMING);
    const named = ['edit-metadata', '--set', 'Copyright=Zoë Ünal', '--set', 'Artist=Zoë'];
    const { bytes } = await runOne(named, webp, 'a.webp');
    const args = ['convert', '--format', 'webp', '--metadata', 'copyright'];
    const { metadata } = await runOne(args, bytes, 'a.webp');
    expect(metadata.pages).toBe(3);
    const { image } = readExif(metadata.exif!)!;
    expect(image).toMatchObject({ Copyright: 'Zoë Ünal', Artist: 'Zoë' });
  });

  test('keeps letters beyond ASCII where equal frames become one', async () => {
    const webp = await animatedWebp([quadrants(SIZE), painted(SIZE, () => RED)], {
      ...{ delay: [100, 200], loop: 0 },
    });
    const named = ['edit-metadata', '--set', 'Copyright=Zoë Ünal'];
    const { bytes, pages } = await runOne(named, webp, 'a.webp');
    expect(pages).toBe(2);
    const crop = ['crop', '--left', '0', '--top', '0', '--width', '4', '--height', '4'];
    const { metadata } = await runOne([...crop, '--metadata', 'copyright'], bytes, 'a.webp');
    expect(metadata.pages).toBeUndefined();
    expect(readExif(metadata.exif!)!.image).toMatchObject({ Copyright: 'Zoë Ünal' });
  });

  test.each(['jpeg', 'png', 'webp', 'avif'])(
    'goes from TIFF to %s with the profile',
    async (format) => {
      const writer = new Writer('little');
      const profile = (await decode((await displayP3())['p3.png']!)).metadata.icc!;
      const own = description(writer);
      const entries = { ...own.entries, 34675: writer.undefined([...profile]) };
      const file = tiffFile(writer, SIZE, () => ORANGE.p3, { ...own, entries });
      const args = ['convert', '--format', format, '--quality', '95', '--metadata', 'all'];
      const batch = await runBatch(args, { 'a.tiff': file });
      const pixels = await batch.pixels('a.tiff');
      expect(isDisplayP3(pixels.metadata.icc!)).toBe(true);
      expect(readExif(pixels.metadata.exif!)?.image).toMatchObject({ Make: 'Acme' });
      expectColour(pixels.rgb(5, 5), ORANGE.p3, 2);
    },
  );

  test('larger than a JPEG segment is kept in TIFF, and dropped elsewhere with a warning', async () => {
    const writer = new Writer('little');
    const maker = writer.undefined(Array.from({ length: 70_000 }, (_, index) => index % 251));
    const own = { ...description(writer), pointers: { 34665: { entries: { 37500: maker } } } };
    const files = { 'a.tiff': tiffFile(writer, SIZE, () => [9, 99, 200], own) };
    const kept = await runBatch(['convert', '--format', 'tiff', '--metadata', 'all'], files);
    expect(kept.warnings('a.tiff')).toEqual([]);
    expect(kept.bytes('a.tiff').includes(Buffer.from(maker.bytes))).toBe(true);
    for (const format of ['jpeg', 'png', 'webp', 'avif']) {
      const lost = await runBatch(['convert', '--format', format, '--metadata', 'all'], files);
      expect(lost.warnings('a.tiff'), format).toEqual(['exif_lost']);
    }
  });

  test('is dropped in GIF with a warning', async () => {
    const batch = await runBatch(['convert', '--format', 'gif', '--metadata', 'all'], {
      'a.png': await pngOf(quadrants(SIZE)),
    });
    expect(batch.warnings('a.png')).toEqual(['metadata_ignored']);
  });
});
