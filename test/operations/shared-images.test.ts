import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { supportedFormats } from '../../src/images/programs/support.ts';
import { type Batch, type Files, runBatch } from '../batch.ts';
import { pngOf } from '../fixtures/images.ts';
import { temporaryFolder } from '../oriel.ts';
import { outsideFolder } from '../outside-material.ts';
import { decode, differences, expectColour } from '../pixels.ts';

/** One image of the collection, as listed in its index. */
interface Entry {
  readonly file: string;
  readonly sha256: string;
  readonly header: 'ok' | 'error';
  readonly decode: 'ok' | 'error';
  readonly metadata: {
    readonly format: string;
    readonly width: number;
    readonly height: number;
    readonly orientation?: number;
    readonly pages?: number;
    readonly loop?: number;
  } | null;
}

const { isPresent, path, read } = outsideFolder('images');

const entries: readonly Entry[] = isPresent ? JSON.parse(read('index.json')).files : [];

function files(): Files {
  return Object.fromEntries(entries.map(({ file }) => [file, readFileSync(path(file))]));
}

function oriented({ metadata }: Entry): { width: number; height: number } {
  const { width, height, orientation = 1 } = metadata!;
  return orientation > 4 ? { width: height, height: width } : { width, height };
}

const FLAGS: Readonly<Record<string, readonly string[]>> = {
  jpeg: [],
  png: ['--effort', '1'],
  webp: ['--effort', '0'],
  avif: ['--effort', '0'],
  gif: ['--effort', '1'],
  tiff: ['--allow-svg'],
};

/** Endings of the formats that programs of this machine read. */
const PROGRAMS = supportedFormats()
  .filter(({ read, format }) => read !== null && ['heic', 'jxl'].includes(format))
  .flatMap(({ extensions }) => extensions.map((ending) => `.${ending}`));

const runs = new Map<string, Promise<Batch>>();

function converted(format: string): Promise<Batch> {
  const args = ['convert', '--format', format, ...FLAGS[format]!];
  const run = runs.get(format) ?? runBatch(args, files());
  runs.set(format, run);
  return run;
}

describe.skipIf(!isPresent)('real images of the folder ORIEL_SHARED', () => {
  test.each(Object.keys(FLAGS))(
    'every one is converted to %s, or refused as it should be',
    async (format) => {
      const batch = await converted(format);
      expect(batch.result.summary.total).toBe(entries.length);
      for (const entry of entries) {
        const { file } = entry;
        const record = batch.record(file);
        const isSvg = entry.metadata?.format === 'svg';
        if (isSvg && !FLAGS[format]!.includes('--allow-svg')) {
          expect(record.error?.code, file).toBe('unsupported_format');
        } else if (file.endsWith('.bmp')) {
          // Read by Oriel itself; the index says what sharp reads.
          expect(record.status, file).toBe('succeeded');
        } else if (PROGRAMS.some((ending) => file.endsWith(ending))) {
          // Read by an installed program.
          expect(record.error, file).toBeUndefined();
        } else if (entry.header === 'error') {
          expect(record.error?.code, file).toBe('unsupported_format');
        } else if (entry.decode === 'error') {
          const expected = file.startsWith('heic') ? 'unsupported_format' : 'corrupt_image';
          expect(record.error?.code, file).toBe(expected);
        } else {
          expect([file, record.error]).toEqual([file, undefined]);
          const size = oriented(entry);
          expect(record, file).toMatchObject({ status: 'succeeded', format, ...size });
          const metadata = await sharp(batch.bytes(file)).metadata();
          expect(metadata, file).toMatchObject(size);
          expect(metadata.orientation ?? 1, file).toBe(1);
          expect([metadata.exif, metadata.xmp, metadata.iptc], file).toEqual([
            undefined,
            undefined,
            undefined,
          ]);
          await expectFrames(batch, entry, format);
        }
      }
    },
  );

  async function expectFrames(batch: Batch, { file, metadata }: Entry, format: string) {
    const { pages = 1, loop } = metadata!;
    // An animated PNG, of which the decoder knows one frame.
    const isApng = file === 'png-apng.png';
    const moves = isApng || ['gif', 'webp'].includes(metadata!.format);
    const output = await sharp(batch.bytes(file)).metadata();
    if (pages > 1 && moves && !isApng && (format === 'gif' || format === 'webp')) {
      const input = await sharp(files()[file]!).metadata();
      const total = (delays: number[] = []) => delays.reduce((sum, next) => sum + next, 0);
      // Frames that look the same may have merged.
      expect(output.pages, file).toBeGreaterThan(1);
      expect(batch.record(file).pages, file).toBe(output.pages);
      expect([output.loop, total(output.delay)], file).toEqual([loop, total(input.delay)]);
    } else {
      // The pages of the one document differ in size, which no encoder of ours can hold.
      const lost = moves ? 'animation_lost' : 'pages_lost';
      const warnings = batch.warnings(file).filter((code) => code !== 'colours_not_converted');
      const gainMap = file === 'jpeg-gainmap.jpg' ? ['trailer_lost'] : [];
      expect(warnings, file).toEqual(pages > 1 || isApng ? [lost] : gainMap);
      expect(output.pages ?? 1, file).toBe(1);
    }
  }

  test('a recipe gives all its outputs of every one, or the error of the file', async () => {
    const recipe = join(temporaryFolder(), 'recipe.yaml');
    const steps =
      '{ crop: { ratio: "4:3" } }, { resize: { width: 120 } }, { sharpen: { sigma: 0.6 } }';
    writeFileSync(recipe, `steps: [${steps}]\noutputs: [{ formats: [webp, jpeg] }]\n`);
    const batch = await runBatch(['run', recipe], files());
    expect(batch.code).toBe(1);
    for (const { file, header, decode: decoding, metadata } of entries) {
      const record = batch.record(file);
      if (record.status === 'failed') {
        const { code, message } = record.error!;
        expect(['unsupported_format', 'corrupt_image'], `${file}: ${message}`).toContain(code);
        const isDamaged = header === 'error' || decoding === 'error' || metadata?.format === 'svg';
        expect([file, isDamaged]).toEqual([file, true]);
        continue;
      }
      expect(
        record.outputs?.map(({ format }) => format),
        file,
      ).toEqual(['webp', 'jpeg']);
      for (const { width, height } of record.outputs!) {
        expect(width, file).toBeLessThanOrEqual(120);
        expect(Math.abs(width * 3 - height * 4), file).toBeLessThanOrEqual(6);
      }
    }
  });

  test('all eight orientations give the same image', async () => {
    const batch = await converted('png');
    const looks = await Promise.all(
      [1, 2, 3, 4, 5, 6, 7, 8].map(async (orientation) => {
        const bytes = batch.bytes(`jpeg-orientation-${orientation}.jpg`);
        return decode(await pngOf(sharp(bytes).resize(30, 20, { kernel: 'linear' })));
      }),
    );
    for (const look of looks) {
      for (let y = 0; y < 20; y += 3) {
        for (let x = 0; x < 30; x += 3) expectColour(look.rgb(x, y), looks[0]!.rgb(x, y), 12);
      }
    }
  });

  test('a photograph keeps all pixels in PNG and TIFF', async () => {
    const original = await decode(files()['png-photo.png']!);
    for (const format of ['png', 'tiff']) {
      const pixels = await (await converted(format)).pixels('png-photo.png');
      expect(differences(pixels, original.rgb), format).toEqual([]);
    }
  });

  test('a transparent background is white in JPEG', async () => {
    const pixels = await (await converted('jpeg')).pixels('png-alpha-shape.png');
    for (const [x, y] of [
      [2, 2],
      [2040, 2],
      [2, 1530],
      [2040, 1530],
    ] as const) {
      expectColour(pixels.rgb(x, y), [255, 255, 255], 2);
    }
  });

  test('each file has the SHA-256 of the index', async () => {
    const batch = await runBatch(['hash'], files());
    expect(batch.code).toBe(0);
    for (const { file, sha256 } of entries) {
      expect(batch.record(file).data, file).toEqual({ algorithm: 'sha256', sha256 });
    }
  });
});
