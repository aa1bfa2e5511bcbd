import { describe, expect, test } from 'vitest';
import { runBatch, runOne } from '../batch.ts';
import { PRIVATE_EXIF, painted, photo, pngOf, quadrants } from '../fixtures/images.ts';
import { displayP3, isDisplayP3, ORANGE, SECRETS, withEverything } from '../fixtures/kinds.ts';
import { greyProfile, tagJpeg } from '../fixtures/profile.ts';
import { decode, differences, expectColour, type Pixels, quarters } from '../pixels.ts';

const image = () => photo({ width: 64, height: 48 });

describe('options that a format does not support', () => {
  const ALL = ['--quality', '50', '--chroma-subsampling', '4:4:4', '--progressive'];

  test.each([
    ['jpeg', [...ALL, '--effort', '10'], []],
    [
      'png',
      [...ALL, '--effort', '10', '--lossless'],
      ['quality_ignored', 'chroma_subsampling_ignored', 'effort_adjusted'],
    ],
    [
      'webp',
      [...ALL, '--effort', '7', '--lossless'],
      ['progressive_ignored', 'chroma_subsampling_ignored', 'effort_adjusted'],
    ],
    ['avif', [...ALL, '--effort', '10'], ['progressive_ignored', 'effort_adjusted']],
    [
      'gif',
      [...ALL, '--effort', '0'],
      ['quality_ignored', 'chroma_subsampling_ignored', 'effort_adjusted'],
    ],
    [
      'tiff',
      [...ALL, '--effort', '3', '--lossless'],
      ['quality_ignored', 'progressive_ignored', 'chroma_subsampling_ignored', 'effort_ignored'],
    ],
  ])('are ignored in %s, with a warning', async (format, flags, expected) => {
    const pixels = await runOne(
      ['convert', '--format', format, ...flags],
      await pngOf(quadrants({ width: 32, height: 32 })),
    );
    expect(pixels.warnings.toSorted()).toEqual(expected.toSorted());
    expect(quarters(pixels)).toBe('RGBW');
  });

  test('include lossless, where the format is that of the input', async () => {
    const batch = await runBatch(['resize', '--width', '16', '--lossless'], {
      'a.jpg': await image().jpeg().toBuffer(),
      'b.gif': await image().gif().toBuffer(),
      'c.png': await pngOf(image()),
    });
    expect(batch.warnings('a.jpg')).toEqual(['lossless_ignored']);
    expect(batch.warnings('b.gif')).toEqual(['lossless_ignored']);
    expect(batch.warnings('c.png')).toEqual([]);
  });
});

/** The chroma format of the box av1C (AV1 in ISOBMFF, 2.3.3). */
function subsamplingOfAvif(bytes: Buffer): string {
  const flags = bytes[bytes.indexOf('av1C') + 6]!;
  const [x, y] = [flags & 0x08, flags & 0x04];
  return x && y ? '4:2:0' : x ? '4:2:2' : '4:4:4';
}

describe('options that a format supports', () => {
  test.each([
    ['jpeg', 'auto', ['4:2:0', '4:2:0', '4:2:0']],
    ['jpeg', '4:4:4', ['4:4:4', '4:4:4', '4:4:4']],
    // What is stored at half resolution gains nothing from more.
    ['avif', 'auto', ['4:4:4', '4:2:0', '4:4:4']],
    ['avif', '4:2:0', ['4:2:0', '4:2:0', '4:2:0']],
  ])('chroma in %s at %s is subsampled %j', async (format, setting, expected) => {
    const args = ['convert', '--format', format, '--chroma-subsampling', setting];
    const batch = await runBatch(args, {
      'full.png': await pngOf(image()),
      'half.jpg': await image().jpeg({ chromaSubsampling: '4:2:0' }).toBuffer(),
      'whole.jpg': await image().jpeg({ chromaSubsampling: '4:4:4' }).toBuffer(),
    });
    const found = await Promise.all(
      batch.result.results.map(async ({ inputFilename: name }) => {
        const { metadata } = await batch.pixels(name);
        return metadata.chromaSubsampling ?? subsamplingOfAvif(batch.bytes(name));
      }),
    );
    expect(found).toEqual(expected);
  });

  test.each(['webp', 'avif'])('lossless %s keeps all pixels', async (format) => {
    const source = await pngOf(image());
    const pixels = await runOne(['convert', '--format', format, '--lossless'], source);
    expect(differences(pixels, (await decode(source)).rgb)).toEqual([]);
    expect(pixels.warnings).toEqual([]);
  });

  test('lossless AVIF of 16 bits keeps the upper 10 bits', async () => {
    const deep = image().toColourspace('rgb16');
    const source = await pngOf(deep);
    const pixels = await runOne(['convert', '--format', 'avif', '--lossless'], source);
    const original = await decode(source);
    expect(pixels.metadata.bitsPerSample).toBe(10);
    const upper = (samples: readonly number[]) => samples.map((sample) => sample >> 6);
    const [is, should] = [pixels.rgb, original.rgb];
    expect(
      differences({ ...pixels, rgb: (x, y) => upper(is(x, y)) }, (x, y) => upper(should(x, y))),
    ).toEqual([]);
  });

  test.each(['jpeg', 'png', 'gif'])('%s is progressive with --progressive only', async (format) => {
    const source = await image().tiff({ compression: 'lzw' }).toBuffer();
    const args = ['convert', '--format', format];
    const plain = await runOne(args, source, 'a.tiff');
    expect(plain.metadata.isProgressive).toBe(false);
    const progressive = await runOne([...args, '--progressive'], source, 'a.tiff');
    expect(progressive.metadata.isProgressive).toBe(true);
  });

  test('quality and effort change the size', async () => {
    const source = await pngOf(photo({ width: 128, height: 96 }));
    const size = async (...flags: string[]) =>
      (await runOne(['convert', '--format', 'jpeg', ...flags], source)).bytes.length;
    const plain = await size();
    expect(plain).toBe(await size('--quality', '80', '--effort', '6'));
    expect(plain).toBeGreaterThan(await size('--quality', '30'));
    // From seven on it is mozjpeg.
    expect(plain * 0.97).toBeGreaterThan(await size('--effort', '7'));
  });
});

describe('metadata', () => {
  const size = { width: 48, height: 32 };
  /** PNG deflates some of it: what the decoder finds counts as well as the bytes. */
  const says = (bytes: Buffer, { metadata }: Pixels, text: string) =>
    [bytes, metadata.exif, metadata.xmp].some((part) => part?.includes(text));

  test('is contained in the fixtures', async () => {
    for (const [name, bytes] of Object.entries(await withEverything(size))) {
      const pixels = await decode(bytes);
      expect(pixels.metadata, name).toMatchObject({ orientation: 6, hasProfile: true });
      for (const secret of SECRETS) expect(says(bytes, pixels, secret), name).toBe(true);
    }
    const p3 = await displayP3();
    expectColour((await decode(p3['p3.png']!)).rgb(1, 1), ORANGE.p3, 1);
    const deep = ORANGE.p3.map((sample) => sample * 257);
    expectColour((await decode(p3['p3-deep.png']!)).rgb(1, 1), deep, 1);
  });

  test.each([
    ['icc', 'png'],
    ['icc', 'webp'],
    ['all', 'jpeg'],
    ['all', 'avif'],
    ['all', 'tiff'],
  ])('%s in %s keeps the profile and its colours', async (policy, format) => {
    const files = await displayP3();
    const quality = ['jpeg', 'webp', 'avif'].includes(format) ? ['--quality', '100'] : [];
    const args = ['convert', '--format', format, '--metadata', policy, ...quality];
    const batch = await runBatch(args, files);
    for (const [name, pixels] of await batch.decoded(files)) {
      const { icc } = pixels.metadata;
      expect(icc, name).toBeDefined();
      const scale = pixels.deep ? 257 : 1;
      const space = isDisplayP3(icc!) ? ORANGE.p3 : ORANGE.srgb;
      const expected = space.map((sample) => sample * scale);
      expectColour(pixels.rgb(8, 8), expected, 3 * scale, `${name} to ${format}`);
    }
  });

  test('icc does not keep a CMYK profile', async () => {
    const inks = quadrants(size).toColourspace('cmyk').withIccProfile('cmyk');
    const pixels = await runOne(
      ['convert', '--format', 'png', '--metadata', 'icc'],
      await inks.jpeg({ quality: 95 }).toBuffer(),
      'inks.jpg',
    );
    expect(pixels.metadata).toMatchObject({ space: 'srgb', channels: 3 });
    expect(pixels.metadata.icc!.toString('latin1', 16, 20)).toBe('RGB ');
    expectColour(pixels.rgb(10, 8), [223, 31, 28], 12);
  });

  test.each(['icc', 'all'])(
    '%s cannot keep a profile in GIF, so that its colours change',
    async (policy) => {
      const files = await displayP3();
      const batch = await runBatch(['convert', '--format', 'gif', '--metadata', policy], files);
      for (const [name, pixels] of await batch.decoded(files)) {
        expect(pixels.metadata.hasProfile, name).toBe(false);
        expectColour(pixels.rgb(8, 8), ORANGE.srgb, 2, name);
      }
    },
  );

  test('icc keeps a grey profile where the samples are grey', async () => {
    // Of light as it is: 100 of 255 is a lighter grey than in sRGB.
    const grey = painted({ width: 16, height: 16, channels: 1 }, () => [100]);
    const source = tagJpeg(await grey.jpeg({ quality: 100 }).toBuffer(), greyProfile(1));
    for (const format of ['png', 'jpeg', 'webp', 'avif']) {
      const quality = format === 'png' ? [] : ['--quality', '100'];
      const args = ['convert', '--format', format, ...quality, '--metadata'];
      const none = await runOne([...args, 'none'], source, 'a.jpg');
      expectColour(none.rgb(8, 8), [168, 168, 168], 1, format);
      const icc = await runOne([...args, 'icc'], source, 'a.jpg');
      const isGrey = icc.metadata.channels === 1;
      expect(isGrey, format).toBe(format === 'png' || format === 'jpeg');
      expect(icc.metadata.icc?.toString('latin1', 16, 20), format).toBe(isGrey ? 'GRAY' : 'RGB ');
      const expected = isGrey ? 100 : 168;
      expectColour(icc.rgb(8, 8), [expected, expected, expected], 1, format);
    }
  });

  test.each(['none', 'copyright', 'icc', 'all'])(
    '%s leaves backgrounds as they are',
    async (policy) => {
      const images = [false, true].map((deep) =>
        painted({ width: 20, height: 20, channels: 2, deep }, () => [0, 0]).withExif(PRIVATE_EXIF),
      );
      const files = {
        'grey.png': await images[0]!.png().toBuffer(),
        'grey-deep.png': await images[1]!.png().toBuffer(),
      };
      const args = ['convert', '--format', 'jpeg', '--quality', '100', '--background', '#ff8800'];
      const batch = await runBatch([...args, '--metadata', policy], files);
      for (const name of Object.keys(files)) {
        expectColour((await batch.pixels(name)).rgb(10, 10), [255, 136, 0], 2, name);
      }
    },
  );

  test('icc keeps only the profile', async () => {
    const args = ['convert', '--format', 'webp', '--metadata', 'icc'];
    const batch = await runBatch(args, await withEverything(size));
    for (const { inputFilename: name } of batch.result.results) {
      const pixels = await batch.pixels(name);
      expect(pixels.metadata.hasProfile, name).toBe(true);
      for (const secret of SECRETS) expect(says(batch.bytes(name), pixels, secret)).toBe(false);
    }
  });

  test.each(['jpeg', 'png', 'webp', 'avif'])(
    'all is kept in %s, turned upright',
    async (format) => {
      const args = ['convert', '--format', format, '--metadata', 'all'];
      const batch = await runBatch(args, await withEverything(size));
      for (const { inputFilename: name } of batch.result.results) {
        const pixels = await batch.pixels(name);
        for (const secret of SECRETS) {
          expect(says(batch.bytes(name), pixels, secret), `${secret} in ${name}`).toBe(true);
        }
        expect(pixels.metadata.hasProfile).toBe(true);
        expect(pixels.metadata.orientation ?? 1, name).toBe(1);
        expect([pixels.width, pixels.height], name).toEqual([48, 32]);
        expect(quarters(pixels), name).toBe('RGBW');
      }
    },
  );
});
