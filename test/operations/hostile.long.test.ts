import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { type Batch, runBatch, runOne } from '../batch.ts';
import {
  animatedGif,
  animatedWebp,
  BLUE,
  multipageTiff,
  painted,
  photo,
  pngOf,
  pngPromising,
  quadrants,
  randomNumbers,
} from '../fixtures/images.ts';
import { frames } from '../fixtures/kinds.ts';
import { differences, letter, quarters } from '../pixels.ts';

const CODES = [
  'unsupported_format',
  'corrupt_image',
  'empty_file',
  'file_too_large',
  'image_too_large',
  'too_many_frames',
  'output_too_large',
  'animation_unsupported',
  'processing_failed',
];

/** Whatever a file holds, its error is one plain line with a code that users can rely on. */
function expectPlainErrors({ code, result, stderr }: Batch): void {
  expect(code).toBe(result.summary.failed > 0 ? 1 : 0);
  expect(stderr).not.toMatch(/defect|\n\s+at /);
  for (const { inputFilename, status, error } of result.results) {
    if (status === 'succeeded') continue;
    expect(CODES, inputFilename).toContain(error?.code);
    const message = error?.message ?? '';
    expect(message.length, inputFilename).toBeGreaterThan(10);
    expect(message.length, message).toBeLessThan(300);
    expect(message).not.toMatch(
      /[\n\r]|(^|[\s'"(:])\.{0,2}\/\w|\\|node_modules|\.[jt]s\b|\bat \w+ \(/,
    );
  }
}

const SIZE = { width: 40, height: 30 };
const TIMING = { delay: [50, 50, 50], loop: 0 };

/** One healthy image of each kind that is read. */
async function healthy(): Promise<Record<string, Buffer>> {
  const image = () => photo(SIZE);
  const frames = [1, 2, 3].map((seed) => photo(SIZE, seed));
  return {
    jpeg: await image().jpeg().toBuffer(),
    'progressive-jpeg': await image().jpeg({ progressive: true }).toBuffer(),
    'exif-jpeg': await image()
      .withMetadata({ orientation: 6 })
      .withIccProfile('p3')
      .jpeg()
      .toBuffer(),
    png: await pngOf(image()),
    'interlaced-png': await image().png({ progressive: true }).toBuffer(),
    'palette-png': await image().png({ palette: true }).toBuffer(),
    webp: await image().webp().toBuffer(),
    'lossless-webp': await image().webp({ lossless: true }).toBuffer(),
    'animated-webp': await animatedWebp(frames, TIMING),
    avif: await image().avif({ effort: 0 }).toBuffer(),
    gif: await image().gif().toBuffer(),
    'animated-gif': await animatedGif(frames, TIMING),
    tiff: await image().tiff({ compression: 'deflate' }).toBuffer(),
    'lzw-tiff': await image().tiff({ compression: 'lzw', tile: true }).toBuffer(),
    'jpeg-tiff': await image().tiff({ compression: 'jpeg' }).toBuffer(),
    'paged-tiff': await multipageTiff(frames),
  };
}

describe('truncated files', () => {
  const cuts = (length: number) => ({
    magic: 3,
    start: 12,
    header: 40,
    quarter: Math.floor(length / 4),
    half: Math.floor(length / 2),
    most: Math.floor(length * 0.9),
    end: length - 16,
  });

  test.each([
    ['convert', '--format', 'webp', '--animated', 'all'],
    ['rotate', '--angle', '45', '--format', 'png'],
  ])('are reported as corrupt_image for any length: %s %s %s', async (...args) => {
    const files: Record<string, Buffer> = {};
    for (const [kind, bytes] of Object.entries(await healthy())) {
      if (args[0] === 'convert' && kind === 'paged-tiff') continue;
      files[`${kind}.whole`] = bytes;
      for (const [cut, length] of Object.entries(cuts(bytes.length))) {
        files[`${kind}.${cut}`] = bytes.subarray(0, length);
      }
    }
    const batch = await runBatch([...args, '--name', '{name}-{index}.{ext}'], files);
    expectPlainErrors(batch);
    for (const name of Object.keys(files)) {
      const { status, error } = batch.record(name);
      if (name.endsWith('.whole')) {
        expect([name, error]).toEqual([name, undefined]);
        continue;
      }
      // PNG's encoder takes one frame: what is behind the first was not asked for.
      const spared = args[0] === 'rotate' && /^(animated-gif|paged-tiff)/.test(name);
      if (spared && status === 'succeeded') continue;
      const unknown = name.endsWith('.magic') && !name.includes('jpeg.');
      const expected = unknown ? 'unsupported_format' : 'corrupt_image';
      expect([name, error?.code]).toEqual([name, expected]);
    }
  });

  test('are read where a PNG lacks only its IEND chunk', async () => {
    const bytes = (await healthy())['png']!;
    const whole = await runOne(['convert', '--format', 'png'], bytes);
    const cut = await runOne(['convert', '--format', 'png'], bytes.subarray(0, bytes.length - 12));
    expect(differences(cut, whole.rgb)).toEqual([]);
  });
});

describe('files with other content', () => {
  test('are read by content, not by name', async () => {
    const batch = await runBatch(['resize', '--width', '20'], {
      'png.jpg': await pngOf(quadrants(SIZE)),
      'webp.png': await quadrants(SIZE).webp().toBuffer(),
      'jpeg.tiff': await quadrants(SIZE).jpeg().toBuffer(),
      noending: await quadrants(SIZE).gif().toBuffer(),
    });
    expect(batch.result.results.map(({ format }) => format)).toEqual([
      'png',
      'webp',
      'jpeg',
      'gif',
    ]);
    for (const { inputFilename: name, outputFilename } of batch.result.results) {
      const pixels = await batch.pixels(name);
      expect(quarters(pixels), name).toBe('RGBW');
      const ending = { jpeg: 'jpg' }[pixels.metadata.format as string] ?? pixels.metadata.format;
      expect(outputFilename).toMatch(new RegExp(`\\.${ending}$`));
    }
  });

  test('of known formats that are not read fail with the name of the format', async () => {
    const starts: Record<string, string> = {
      'JPEG 2000': '\0\0\0\x0cjP  \r\n\x87\n',
      Photoshop: '8BPS\0\x01',
    };
    const files = Object.fromEntries(
      Object.entries(starts).map(([name, start]) => [
        `${name.replaceAll(' ', '')}.png`,
        Buffer.concat([Buffer.from(start, 'latin1'), Buffer.alloc(64)]),
      ]),
    );
    const batch = await runBatch(['convert', '--format', 'png'], files);
    expectPlainErrors(batch);
    Object.keys(starts).forEach((name, index) => {
      const { error } = batch.result.results[index]!;
      expect(error?.code, name).toBe('unsupported_format');
      expect(error?.message).toContain(name);
    });
  });

  test('that are empty, text or noise fail', async () => {
    const random = randomNumbers(5);
    const noise = () => Buffer.from(Array.from({ length: 400 }, () => random(256)));
    const magics: Record<string, string> = {
      jpeg: '\xff\xd8\xff\xe0',
      png: '\x89PNG\r\n\x1a\n',
      gif: 'GIF89a',
      tiff: 'II*\0',
      webp: 'RIFF\x90\x01\0\0WEBPVP8 ',
      avif: '\0\0\0\x1cftypavif\0\0\0\0',
      heic: '\0\0\0\x1cftypheic\0\0\0\0',
      bmp: 'BM\x9e\x01\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0',
      ico: '\0\0\x01\0\x01\0',
    };
    const files: Record<string, Buffer> = {
      'empty.jpg': Buffer.alloc(0),
      'text.jpg': Buffer.from('This is not an image.\n'),
      'zeros.png': Buffer.alloc(300),
      'page.svg': Buffer.from('<!doctype html><html><body>no drawing</body></html>'),
    };
    for (const [name, magic] of Object.entries(magics)) {
      files[`noise-${name}.jpg`] = Buffer.concat([Buffer.from(magic, 'latin1'), noise()]);
    }
    const batch = await runBatch(['convert', '--format', 'webp', '--allow-svg'], files);
    expectPlainErrors(batch);
    expect(batch.result.summary.succeeded).toBe(0);
    expect(batch.record('empty.jpg').error?.code).toBe('empty_file');
    for (const name of ['text.jpg', 'zeros.png', 'page.svg']) {
      expect(batch.record(name).error?.code, name).toBe('unsupported_format');
    }
    for (const name of Object.keys(magics)) {
      const { code } = batch.record(`noise-${name}.jpg`).error!;
      if (name === 'heic') expect(['corrupt_image', 'unsupported_format']).toContain(code);
      else expect(code, name).toBe('corrupt_image');
    }
  });
});

describe('SVG', () => {
  const svg = (body: string, attributes = 'width="60" height="40"') =>
    Buffer.from(
      `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" ${attributes}>${body}</svg>`,
    );
  const drawing = svg('<rect width="60" height="40" fill="#ff0000"/>');

  test('is read with --allow-svg only', async () => {
    const files = { 'a.svg': drawing, 'disguised.png': drawing };
    const batch = await runBatch(['convert', '--format', 'png'], files);
    for (const name of Object.keys(files)) {
      expect(batch.record(name).error?.code).toBe('unsupported_format');
      expect(batch.record(name).error?.message).toContain('SVG');
    }
  });

  test('is drawn with --allow-svg, and reads no other file', async () => {
    const secret = await pngOf(painted({ width: 60, height: 40 }, () => BLUE));
    const files = {
      'plain.svg': drawing,
      'prologue.svg': Buffer.concat([
        Buffer.from('\ufeff<?xml version="1.0"?>\n<!-- a comment -->\n'),
        drawing,
      ]),
      'relative.svg': svg('<image xlink:href="secret.png" width="60" height="40"/>'),
      'relative2.svg': svg('<image href="./secret.png" width="60" height="40"/>'),
      'entity.svg': Buffer.from(
        '<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY secret SYSTEM "secret.png">]>' +
          `${svg('<text y="30" font-size="40" fill="blue">&secret;</text>')}`,
      ),
      'script.svg': svg(
        '<script>document.documentElement.remove()</script><rect width="60" height="40" fill="red"/>',
      ),
      'broken.svg': svg('<rect').subarray(0, -'</svg>'.length),
      'buffers.svg': svg(
        `${'<g opacity="0.5">'.repeat(8)}<rect width="9" height="9"/>${'</g>'.repeat(8)}`,
        'width="4000" height="4000"',
      ),
      'huge.svg': svg('<rect width="9" height="9"/>', 'width="90000" height="90000"'),
      // Beyond what libvips holds, which drew it one pixel wide.
      'wide.svg': svg('<rect width="9" height="9"/>', 'width="1e9" height="9"'),
      'secret.png': secret,
    };
    const args = ['convert', '--format', 'png', '--allow-svg', '--name', '{name}.{index}.{ext}'];
    const batch = await runBatch(args, files);
    expectPlainErrors(batch);
    for (const [name, pixels] of await batch.decoded(['plain.svg', 'prologue.svg', 'script.svg'])) {
      expect([pixels.width, pixels.height, letter(pixels, 30, 20)], name).toEqual([60, 40, 'R']);
    }
    for (const name of ['relative.svg', 'relative2.svg', 'entity.svg']) {
      // Refused or left empty, but never shown.
      if (batch.record(name).status === 'failed') continue;
      const pixels = await batch.pixels(name);
      expect(letter(pixels, 30, 20), name).toBe('.');
    }
    expect(batch.record('broken.svg').error?.message).toMatch(/SVG image is damaged: .*Start Tag/);
    for (const name of ['huge.svg', 'wide.svg'])
      expect(batch.record(name).error?.code, name).toBe('image_too_large');
    expect(batch.record('buffers.svg').error).toMatchObject({
      code: 'image_too_large',
      message: expect.stringContaining('more memory than the limit of 1024 MiB for SVG'),
    });
    expect(letter(await batch.pixels('secret.png'), 30, 20)).toBe('B');
  });
});

describe('limits', () => {
  test('are checked before pixels are decoded', async () => {
    const black = { width: 8000, height: 7000, channels: 3, background: 'black' } as const;
    const batch = await runBatch(['convert', '--format', 'webp'], {
      'promise.png': pngPromising({ width: 60_000, height: 60_000 }),
      'bomb.png': await sharp({ create: black }).png({ palette: true, effort: 1 }).toBuffer(),
      'healthy.png': await pngOf(quadrants(SIZE)),
    });
    expectPlainErrors(batch);
    expect(batch.record('promise.png').error?.code).toBe('image_too_large');
    expect(batch.record('bomb.png').error?.code).toBe('image_too_large');
    expect(batch.record('bomb.png').originalSize).toBeLessThan(100_000);
    expect(quarters(await batch.pixels('healthy.png'))).toBe('RGBW');
  });

  test('apply to the pixels of all frames, and to frames', async () => {
    // Neighbours look so different that the encoder does not merge them.
    const random = randomNumbers(11);
    const frames = (count: number, width: number, height: number) =>
      Array.from({ length: count }, (_, index) => {
        const colour = [(index % 2) * 255, random(256), random(256)];
        return painted({ width, height }, () => colour);
      });
    const gif = (images: ReturnType<typeof frames>) =>
      animatedGif(images, { delay: images.map(() => 20), loop: 0 });
    const files = {
      'many.gif': await gif(frames(257, 2, 2)),
      'enough.gif': await gif(frames(256, 2, 2)),
      'large.gif': await gif(frames(11, 100, 100)),
      'fits.gif': await gif(frames(10, 100, 100)),
      'large.png': await pngOf(photo({ width: 400, height: 251 })),
      'fits.png': await pngOf(photo({ width: 400, height: 250 })),
    };
    const args = ['convert', '--format', 'gif', '--effort', '1', '--max-pixels', '0.1'];
    const batch = await runBatch([...args, '--name', '{name}.{index}.{ext}'], files);
    expectPlainErrors(batch);
    const errors = Object.keys(files).map((name) => batch.record(name).error?.code);
    expect(errors).toEqual([
      'too_many_frames',
      undefined,
      'image_too_large',
      undefined,
      'image_too_large',
      undefined,
    ]);
    expect(batch.record('enough.gif').pages).toBe(256);
    const more = await runBatch([...args, '--max-frames', '257'], {
      'many.gif': files['many.gif'],
    });
    expect(more.record('many.gif')).toMatchObject({ status: 'succeeded', pages: 257 });
  });

  /** One frame of 20x16 pixels is less than 1,000 pixels, six are more. */
  const sixFrames = async () => {
    const timing = { delay: Array(6).fill(100), loop: 0 };
    const all = [...frames(), ...frames()];
    return { 'a.gif': await animatedGif(all, timing), 'b.webp': await animatedWebp(all, timing) };
  };

  test.each([
    ['metadata'],
    ['palette'],
    ['hash', '--perceptual', 'dhash'],
    ['convert', '--format', 'png'],
    ['convert', '--format', 'webp', '--animated', 'first'],
    ['resize', '--width', '10', '--animated', 'first'],
    ['crop', '--left', '1', '--top', '1', '--width', '9', '--height', '9', '--format', 'jpeg'],
    ['rotate', '--angle', '90', '--animated', 'first'],
  ])('on frames do not apply where one frame is read: %s', async (...args) => {
    const limits = ['--max-frames', '5', '--max-pixels', '0.001'];
    const batch = await runBatch([...args, ...limits], await sixFrames());
    expect(batch.result.results.map(({ error }) => error)).toEqual([undefined, undefined]);
  });

  test('on frames apply where all are kept', async () => {
    for (const operation of [
      ['convert', '--format', 'webp'],
      ['resize', '--width', '10'],
    ]) {
      const frames = await runBatch([...operation, '--max-frames', '5'], await sixFrames());
      const pixels = await runBatch([...operation, '--max-pixels', '0.001'], await sixFrames());
      const codes = [frames, pixels].map(({ result }) =>
        result.results.map((it) => it.error?.code),
      );
      expect(codes).toEqual([
        ['too_many_frames', 'too_many_frames'],
        ['image_too_large', 'image_too_large'],
      ]);
    }
  });

  test('apply to the bytes of a file', async () => {
    const large = await pngOf(photo({ width: 120, height: 120 }));
    const batch = await runBatch(['convert', '--format', 'jpeg', '--max-file-size', '0.01'], {
      'large.png': large,
      'small.png': await pngOf(quadrants(SIZE)),
    });
    const { error } = batch.record('large.png');
    expect(error?.code).toBe('file_too_large');
    expect(error?.message).toContain(`${large.length} bytes`);
    expect(quarters(await batch.pixels('small.png'))).toBe('RGBW');
  });
});

describe('mutated files', () => {
  /** Healthy images with a few bytes changed, half of them within the header. */
  async function mutants(seed: number, each: number): Promise<Record<string, Buffer>> {
    const random = randomNumbers(seed);
    const files: Record<string, Buffer> = {};
    for (const [kind, bytes] of Object.entries(await healthy())) {
      for (let index = 0; index < each; index += 1) {
        const mutant = Buffer.from(bytes);
        const region = index % 2 === 0 ? mutant.length : Math.min(mutant.length, 160);
        for (let change = 0; change <= random(4); change += 1) mutant[random(region)] = random(256);
        files[`${kind}-${index}.bin`] = mutant;
      }
    }
    return files;
  }

  test.each([
    ['convert', '--format', 'webp'],
    ['resize', '--width', '20', '--format', 'png'],
    ['rotate', '--angle', '30', '--format', 'jpeg', '--metadata', 'icc'],
  ])('succeed or fail with a code, and no worker crashes: %s %s %s', async (...args) => {
    const files = await mutants(args.length * 1000 + args[0]!.length, 13);
    const batch = await runBatch(args, files);
    expect(batch.result.summary.total).toBe(Object.keys(files).length);
    expectPlainErrors(batch);
    // Neither is everything fine nor everything refused: the changes do reach the decoders.
    expect(batch.result.summary.succeeded).toBeGreaterThan(30);
    expect(batch.result.summary.failed).toBeGreaterThan(30);
    for (const { inputFilename: name, status, width, height } of batch.result.results) {
      if (status !== 'succeeded') continue;
      const pixels = await batch.pixels(name);
      expect([pixels.width, pixels.height], name).toEqual([width, height]);
    }
  });
});
