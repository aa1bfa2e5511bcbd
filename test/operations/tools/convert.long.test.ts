import { describe, expect, test } from 'vitest';
import { type Batch, runBatch, runOne } from '../../batch.ts';
import {
  animatedGif,
  animatedPng,
  animatedWebp,
  gridAvif,
  painted,
  photo,
  pngOf,
} from '../../fixtures/images.ts';
import {
  animations,
  displayP3,
  type Files,
  frames,
  ORANGE,
  orientedAnimation,
  pages,
  quartersOfEveryKind,
  SECRETS,
  TIMING,
  transparencyOfEveryKind,
  withEverything,
} from '../../fixtures/kinds.ts';
import { decode, differences, expectColour, letter, quarters } from '../../pixels.ts';

const SIZE = { width: 48, height: 32 };
const FORMATS = ['jpeg', 'png', 'webp', 'avif', 'gif', 'tiff'] as const;

const rgb16 = (x: number, y: number) => [x * 4001, y * 6007, 65_535 - x * 13];
const grey8 = (x: number, y: number) => [x * 16 + y];
const grey16 = (x: number, y: number) => [x * 4001 + y];
const small = { width: 16, height: 10 };

const inputs = {
  quarters: quartersOfEveryKind(SIZE),
  transparency: transparencyOfEveryKind(),
  animations: animations(),
  pages: pages(),
  displayP3: displayP3(),
  private: withEverything(SIZE),
  samples: (async (): Promise<Files> => {
    const deep = () => painted({ ...small, deep: true }, rgb16);
    return {
      'samples.png': await pngOf(deep()),
      'samples-lzw.tiff': await deep().tiff({ compression: 'lzw' }).toBuffer(),
      'greys.png': await pngOf(painted({ ...small, channels: 1 }, grey8)),
      'greys-deep.png': await pngOf(painted({ ...small, channels: 1, deep: true }, grey16)),
      'photo.tiff': await photo({ width: 64, height: 64 }).tiff({ compression: 'lzw' }).toBuffer(),
    };
  })(),
};

const runs = new Map<string, Promise<Batch>>();

/** Every input converted to a format with no other setting, in one run of the binary. */
function converted(format: string): Promise<Batch> {
  const run =
    runs.get(format) ??
    Promise.all(Object.values(inputs)).then((sets) =>
      runBatch(['convert', '--format', format], Object.assign({}, ...sets)),
    );
  runs.set(format, run);
  return run;
}

describe.each(FORMATS)('convert every kind of input to %s', (format) => {
  const holds = {
    alpha: format !== 'jpeg',
    depth: ['png', 'tiff', 'avif'].includes(format),
    grey: ['jpeg', 'png', 'tiff'].includes(format),
    exact: format === 'png' || format === 'tiff',
  };

  test('shows the same image, oriented by EXIF', async () => {
    const batch = await converted(format);
    expect(batch.code).toBe(0);
    for (const [name, source] of Object.entries(await inputs.quarters)) {
      const pixels = await batch.pixels(name);
      expect(quarters(pixels), name).toBe('RGBW');
      expect(pixels.metadata.orientation ?? 1, name).toBe(1);
      expect(pixels.metadata.format).toBe(format === 'avif' ? 'heif' : format);
      expect([pixels.width, pixels.height], name).toEqual([SIZE.width, SIZE.height]);
      expect(batch.warnings(name), name).toEqual([]);
      expect(batch.record(name)).toMatchObject({
        status: 'succeeded',
        originalSize: source.length,
        format,
        ...SIZE,
        size: batch.bytes(name).length,
      });
      expect(pixels.deep, `depth of ${name}`).toBe(name.startsWith('deep') && holds.depth);
    }
  });

  test('keeps transparency, or flattens it on white', async () => {
    const batch = await converted(format);
    for (const [name, pixels] of await batch.decoded(await inputs.transparency)) {
      const full = pixels.deep ? 65_535 : 255;
      if (holds.alpha) expect(pixels.alpha(1, 1), name).toBeLessThanOrEqual(full / 255);
      else expectColour(pixels.rgb(1, 1), [255, 255, 255], 16, `outside in ${name}`);
      expect(pixels.alpha(25, 20), name).toBeGreaterThanOrEqual(full - full / 255);
      if (!name.startsWith('grey')) expect(letter(pixels, 25, 20), name).toBe('R');
      else {
        const grey = name.includes('deep') ? 30_000 / 257 : 90;
        expectColour(
          pixels.rgb(25, 20).map((sample) => (sample * 255) / full),
          [grey, grey, grey],
          4,
          name,
        );
      }
    }
  });

  test('keeps 16 bits, or the most significant ones', async () => {
    const batch = await converted(format);
    for (const [name, pixels] of await batch.decoded(['samples.png', 'samples-lzw.tiff'])) {
      expect(pixels.deep, name).toBe(holds.depth);
      expect(pixels.metadata.hasAlpha).toBe(format === 'gif');
      if (holds.exact) {
        expect(pixels.metadata.bitsPerSample).toBe(16);
        expect(differences(pixels, rgb16), name).toEqual([]);
      }
    }
    if (format === 'avif') {
      expect((await batch.pixels('samples.png')).metadata.bitsPerSample).toBe(10);
    }
  });

  test('keeps grey', async () => {
    const batch = await converted(format);
    for (const [name, pixels] of await batch.decoded(['greys.png', 'greys-deep.png'])) {
      const sample = name === 'greys.png' ? grey8 : grey16;
      if (holds.grey) expect(pixels.metadata.channels, name).toBe(1);
      if (holds.exact) {
        const expected = (x: number, y: number) => Array(3).fill(sample(x, y)[0]);
        expect(differences(pixels, expected), name).toEqual([]);
        continue;
      }
      const scale = name === 'greys.png' ? 1 : 257;
      const full = pixels.deep ? 257 : 1;
      const expected = Math.min(255, sample(8, 5)[0]! / scale);
      const is = pixels.rgb(8, 5).map((value) => value / full);
      expectColour(is, [expected, expected, expected], 9, name);
      expect(Math.max(...is) - Math.min(...is), name).toBeLessThanOrEqual(2);
    }
  });

  test('converts Display P3 to sRGB', async () => {
    const batch = await converted(format);
    for (const [name, pixels] of await batch.decoded(await inputs.displayP3)) {
      expect(pixels.metadata.hasProfile, name).toBe(false);
      const scale = pixels.deep ? 257 : 1;
      const expected = ORANGE.srgb.map((sample) => sample * scale);
      expectColour(pixels.rgb(8, 8), expected, 4 * scale, name);
    }
  });

  test('converts CMYK to plausible RGB', async () => {
    const batch = await converted(format);
    for (const [name, pixels] of await batch.decoded(['inks.jpg', 'plates.tiff'])) {
      expect(pixels.metadata.space, name).toBe('srgb');
      expectColour(pixels.rgb(10, 8), [228, 10, 10], 16, `red of ${name}`);
      expectColour(pixels.rgb(10, 24), [29, 60, 138], 12, `blue of ${name}`);
      expectColour(pixels.rgb(38, 24), [255, 255, 255], 4, `white of ${name}`);
    }
  });

  test('drops metadata', async () => {
    const batch = await converted(format);
    for (const [name, pixels] of await batch.decoded(await inputs.private)) {
      expect(pixels.metadata.exif, name).toBeUndefined();
      expect(pixels.metadata.xmp, name).toBeUndefined();
      expect(pixels.metadata.hasProfile, name).toBe(false);
      for (const secret of SECRETS) expect(batch.bytes(name).includes(secret), name).toBe(false);
      expect(quarters(pixels), name).toBe('RGBW');
    }
  });

  test('keeps an animation, or warns that it is lost', async () => {
    const batch = await converted(format);
    const moves = format === 'gif' || format === 'webp';
    for (const [name, pixels] of await batch.decoded(await inputs.animations)) {
      expect(batch.warnings(name), name).toEqual(moves ? [] : ['animation_lost']);
      expect(batch.record(name).pages, name).toBe(moves ? 3 : undefined);
      expect(pixels.pages, name).toBe(moves ? 3 : 1);
      expect([pixels.width, pixels.height], name).toEqual([20, 16]);
      const seen = Array.from({ length: pixels.pages }, (_, page) => letter(pixels, 10, 8, page));
      expect(seen.join(''), name).toBe(moves ? 'RGB' : 'R');
      if (moves) expect(pixels.metadata, name).toMatchObject(TIMING);
    }
  });

  test('keeps pages, or warns that they are lost', async () => {
    const batch = await converted(format);
    const pixels = await batch.pixels('pages.tiff');
    const kept = format === 'tiff';
    expect(batch.warnings('pages.tiff')).toEqual(kept ? [] : ['pages_lost']);
    expect(pixels.pages).toBe(kept ? 3 : 1);
    const seen = Array.from({ length: pixels.pages }, (_, page) => letter(pixels, 10, 8, page));
    expect(seen.join('')).toBe(kept ? 'RGB' : 'R');
  });
});

test('a PNG is never quantised', async () => {
  const pixels = await runOne(
    ['convert', '--format', 'png', '--quality', '50'],
    (await inputs.samples)['photo.tiff']!,
    'photo.tiff',
  );
  expect(pixels.warnings).toEqual(['quality_ignored']);
  expect(pixels.metadata.isPalette).toBe(false);
  const expected = await decode((await inputs.samples)['photo.tiff']!);
  expect(differences(pixels, expected.rgb)).toEqual([]);
});

describe('--background', () => {
  test.each([
    ['#ff8800', [255, 136, 0]],
    ['#0af', [0, 170, 255]],
    ['transparent', [255, 255, 255]],
    ['#00000080', [127, 127, 127]],
  ])('%s fills transparent areas in any depth and colour space', async (given, expected) => {
    const args = [
      'convert',
      '--format',
      'jpeg',
      '--quality',
      '95',
      '--chroma-subsampling',
      '4:4:4',
    ];
    const half = painted({ width: 40, height: 40, channels: 4 }, () => [200, 100, 0, 128]);
    const batch = await runBatch([...args, '--background', given], {
      ...(await inputs.transparency),
      'half.png': await pngOf(half),
    });
    for (const [name, pixels] of await batch.decoded(await inputs.transparency)) {
      expectColour(pixels.rgb(1, 1), expected, 3, `outside in ${name}`);
      const grey = name.includes('deep') ? 117 : 90;
      const inside = name.startsWith('grey') ? [grey, grey, grey] : [254, 0, 0];
      expectColour(pixels.rgb(25, 20), inside, 4, `inside ${name}`);
    }
    const blend = [200, 100, 0].map((sample, index) => (sample + expected[index]!) / 2);
    expectColour((await batch.pixels('half.png')).rgb(20, 20), blend, 3);
  });
});

describe('animations', () => {
  test('keep their loop count', async () => {
    const files: Record<string, Buffer> = {};
    for (const loop of [0, 1, 2]) {
      files[`gif-${loop}.gif`] = await animatedGif(frames(), { ...TIMING, loop });
      files[`webp-${loop}.webp`] = await animatedWebp(frames(), { ...TIMING, loop });
    }
    for (const format of ['gif', 'webp']) {
      const batch = await runBatch(['convert', '--format', format], files);
      for (const name of Object.keys(files)) {
        const { loop } = (await batch.pixels(name)).metadata;
        expect(`${loop}`, `${name} to ${format}`).toBe(/\d/.exec(name)![0]);
      }
    }
  });

  test('may merge equal frames and keep the total time', async () => {
    const [red, green, blue] = frames() as [
      ReturnType<typeof painted>,
      ...ReturnType<typeof frames>,
    ];
    const still = [red, red, green!, blue!];
    const timing = { delay: [100, 200, 300, 400], loop: 0 };
    const files = {
      'a.gif': await animatedGif(still, timing),
      'b.webp': await animatedWebp(still, timing),
    };
    for (const format of ['gif', 'webp']) {
      const batch = await runBatch(['convert', '--format', format], files);
      for (const [name, pixels] of await batch.decoded(files)) {
        expect(batch.record(name).pages).toBe(pixels.pages);
        const total = pixels.metadata.delay!.reduce((sum, next) => sum + next, 0);
        expect(total, `${name} to ${format}`).toBe(1000);
        expect(letter(pixels, 1, 1, pixels.pages - 1)).toBe('B');
      }
    }
  });

  test('limit delays that the encoders cannot write, with a warning', async () => {
    const timing = { delay: [100, 200, 300], loop: 65_535 };
    const gif = await animatedGif(frames(), timing);
    // GIF counts hundredths of a second in 16 bits, and repetitions after the first playing.
    for (const [frame, hundredths] of [6553, 6554, 65_535].entries()) {
      gif.writeUInt16LE(hundredths, nthIndex(gif, '\x21\xf9\x04', frame) + 4);
    }
    gif.writeUInt16LE(65_535, gif.indexOf('NETSCAPE2.0') + 13);
    const webp = await animatedWebp(frames(), timing);
    for (const [frame, milliseconds] of [65_535, 65_536, 0xff_ffff].entries()) {
      webp.writeUIntLE(milliseconds, nthIndex(webp, 'ANMF', frame) + 20, 3);
    }
    for (const format of ['gif', 'webp']) {
      const batch = await runBatch(['convert', '--format', format], {
        'a.gif': gif,
        'b.webp': webp,
      });
      for (const name of ['a.gif', 'b.webp']) {
        expect(batch.warnings(name), `${name} to ${format}`).toEqual(['delay_adjusted']);
        const { delay, loop } = (await batch.pixels(name)).metadata;
        expect(loop).toBe(65_535);
        for (const milliseconds of delay!) {
          expect(milliseconds, `${name} to ${format}`).toBeGreaterThanOrEqual(65_530);
          expect(milliseconds, `${name} to ${format}`).toBeLessThanOrEqual(65_540);
        }
      }
    }
  });

  test('are refused with --animated all where the format has one frame', async () => {
    const batch = await runBatch(['convert', '--format', 'png', '--animated', 'all'], {
      ...(await inputs.animations),
      ...(await inputs.pages),
      'still.gif': await frames()[0]!.gif().toBuffer(),
    });
    expect(batch.code).toBe(1);
    for (const name of ['moving.gif', 'moving-lossless.webp', 'pages.tiff']) {
      expect(batch.record(name).error?.code, name).toBe('animation_unsupported');
    }
    expect(batch.record('still.gif').status).toBe('succeeded');
  });

  test.each(['webp', 'png'])(
    'of PNG lose all but their first frame in %s, which is said',
    async (format) => {
      const source = await animatedPng(SIZE);
      const auto = await runOne(['convert', '--format', format], source);
      expect([quarters(auto), auto.pages, auto.warnings]).toEqual(['RGBW', 1, ['animation_lost']]);
      const first = await runOne(['convert', '--format', format, '--animated', 'first'], source);
      expect([quarters(first), first.warnings]).toEqual(['RGBW', []]);
      const args = ['convert', '--format', format, '--animated', 'all'];
      const all = await runBatch(args, { 'a.png': source });
      expect(all.record('a.png').error?.code).toBe('animation_unsupported');
    },
  );

  test('are not detected in the tiles of a grid', async () => {
    const args = ['convert', '--format', 'png', '--animated', 'all'];
    const picture = await runOne(args, gridAvif(), 'grid.avif');
    expect([picture.width, picture.height, picture.warnings]).toEqual([128, 64, []]);
    expectColour(picture.rgb(10, 10), [255, 0, 0], 8);
    expectColour(picture.rgb(100, 10), [0, 0, 255], 8);
  });

  test('are kept where the format has frames, also with --animated all', async () => {
    const args = ['convert', '--format', 'webp', '--animated', 'all'];
    const batch = await runBatch(args, await inputs.animations);
    for (const name of Object.keys(await inputs.animations)) {
      expect((await batch.pixels(name)).pages, name).toBe(3);
    }
  });

  test.each(['webp', 'png'])(
    'give their first frame in %s on request, unwarned',
    async (format) => {
      const args = ['convert', '--format', format, '--animated', 'first'];
      const files = { ...(await inputs.animations), ...(await inputs.pages) };
      const batch = await runBatch(args, files);
      for (const [name, pixels] of await batch.decoded(files)) {
        expect(pixels.pages, name).toBe(1);
        expect(letter(pixels, 10, 8), name).toBe('R');
        expect(batch.warnings(name), name).toEqual([]);
      }
    },
  );

  test('are oriented by EXIF frame by frame', async () => {
    const files = {
      'six.webp': await orientedAnimation(SIZE, 6),
      'seven.webp': await orientedAnimation(SIZE, 7),
    };
    expect((await decode(files['six.webp'])).metadata).toMatchObject({ orientation: 6, pages: 2 });
    for (const format of ['webp', 'gif']) {
      const batch = await runBatch(['convert', '--format', format], files);
      for (const [name, pixels] of await batch.decoded(files)) {
        expect([pixels.width, pixels.height, pixels.pages], name).toEqual([48, 32, 2]);
        expect([quarters(pixels, 0), quarters(pixels, 1)], name).toEqual(['RWWW', 'GWWW']);
        expect(pixels.metadata).toMatchObject({ delay: [100, 200], loop: 2 });
      }
    }
  });
});

test.each([
  ['jpg', 'jpeg'],
  ['tif', 'tiff'],
])('--format %s is accepted', async (name, format) => {
  const image = await frames()[0]!.png().toBuffer();
  const batch = await runBatch(['convert', '--format', name], { 'a.png': image });
  expect(batch.record('a.png').format).toBe(format);
  expect((await batch.pixels('a.png')).metadata.format).toBe(format);
});

/** Where a text occurs for the nth time, counted from 0. */
function nthIndex(bytes: Buffer, text: string, nth: number): number {
  let found = -1;
  for (let count = 0; count <= nth; count += 1) found = bytes.indexOf(text, found + 1, 'latin1');
  return found;
}
