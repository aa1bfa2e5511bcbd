import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp, { type Sharp } from 'sharp';
import { beforeAll, describe, expect, test } from 'vitest';
import { valueOr } from '../../../src/flow.ts';
import { findProgram } from '../../../src/images/programs/run-program.ts';
import { type Batch, runBatch, runOne } from '../../batch.ts';
import { startDaemon } from '../../daemon.ts';
import {
  animatedGif,
  PRIVATE_EXIF,
  PRIVATE_XMP,
  painted,
  photo,
  pngOf,
  quadrants,
} from '../../fixtures/images.ts';
import { displayP3, isDisplayP3, ORANGE } from '../../fixtures/kinds.ts';
import { absent, encoded, pdf, raw, rotatedHeic } from '../../fixtures/program-images.ts';
import { until } from '../../fixtures/until.ts';
import { oriel, start, temporaryFolder } from '../../oriel.ts';
import { decode, differences, expectColour, quarters } from '../../pixels.ts';

const SIZE = { width: 64, height: 48 };
const QUARTERS = '1 0 0 rg 0 36 48 36 re f 0 1 0 rg 48 36 48 36 re f 0 0 1 rg 0 0 48 36 re f';
const REASON = absent(
  ...['heif-enc', 'heif-convert', 'cjxl', 'djxl', 'exiftool', 'pdftoppm', 'prlimit', 'setpriv'],
);

const tagged = (image: Sharp) =>
  image.withExif(PRIVATE_EXIF).withMetadata({ orientation: 6 }).withXmp(PRIVATE_XMP);

/** One file of each format; all but the deep ones show red, green, blue and white in their quarters. */
async function corpus(folder: string) {
  const upright = await pngOf(quadrants(SIZE));
  const p3 = (await displayP3())['p3.png']!;
  const deep = await pngOf(photo(SIZE).toColourspace('rgb16').linear(0.9, 77));
  // Stored a quarter turn counter-clockwise, as orientation 6 says.
  const turned = await tagged(quadrants(SIZE).rotate(270)).keepIccProfile().jpeg().toBuffer();
  const heif = (input: Buffer, ...args: string[]) => encoded(folder, input, 'heif-enc', ...args);
  const jxl = (input: Buffer, ...args: string[]) => encoded(folder, input, 'cjxl', ...args);
  return {
    'phone.heic': rotatedHeic(heif(turned, '-q', '95'), 3),
    'p3.heic': heif(p3, '-q', '100'),
    'twelve-bits.heic': heif(deep, '-q', '100', '-b', '12'),
    'jpeg.jxl': jxl(turned),
    'pixels.jxl': jxl(upright, '-q', '95'),
    'sixteen-bits.jxl': jxl(deep, '-d', '0'),
    'orange.jxl': jxl(p3, '-d', '0'),
    'camera.dng': raw(await quadrants(SIZE).rotate(270).jpeg().toBuffer()),
    'page.pdf': pdf(96, 72, QUARTERS),
    deep,
  };
}

/** Expects the same stored samples, whatever the profile. */
async function expectStored(output: Uint8Array, input: Uint8Array): Promise<void> {
  const [one, other] = [await decode(output), await decode(input)];
  expect([one.deep, differences(one, other.rgb)]).toEqual([other.deep, []]);
  expect(one.alpha(3, 3)).toBe(other.alpha(3, 3));
}

let files: Awaited<ReturnType<typeof corpus>>;

/** Programs that run in a folder below this one. */
function programsIn(folder: string): string[] {
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return processes.filter((pid) => {
    return valueOr(
      () => readlinkSync(`/proc/${pid}/cwd`).startsWith(join(folder, 'oriel-program-')),
      false,
    );
  });
}

function commandOf(pid: string): string {
  return valueOr(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8'), '');
}

const foldersIn = (folder: string) =>
  readdirSync(folder).filter((name) => name.startsWith('oriel-program-'));

/** A page that takes minutes to draw. */
const endless = () => pdf(400, 400, '0 0 400 400 re 0.5 g f '.repeat(1_000_000));

/** Runs a command with a folder for temporary files, where it must leave nothing. */
async function inFolder(line: readonly string[], own: Readonly<Record<string, Buffer>>, env = {}) {
  const [cwd, TMPDIR] = [temporaryFolder(), temporaryFolder()];
  for (const [name, bytes] of Object.entries(own)) writeFileSync(join(cwd, name), bytes);
  const run = await oriel([line[0]!, '--json', ...line.slice(1)], { cwd, env: { TMPDIR, ...env } });
  expect(foldersIn(TMPDIR)).toEqual([]);
  const { results } = JSON.parse(run.out) as Batch['result'];
  return { run, results, error: results[0]?.error };
}

describe.skipIf(REASON !== null)(
  `formats of installed programs${REASON ? `: ${REASON}` : ''}`,
  () => {
    beforeAll(async () => {
      const folder = mkdtempSync(join(tmpdir(), 'oriel-test-'));
      files = await corpus(folder);
      return () => rmSync(folder, { recursive: true });
    });

    test('are decoded upright, in their colours and depth, with their metadata', async () => {
      const { deep, ...inputs } = files;
      const batch = await runBatch(['convert', '--format', 'png', '--metadata', 'all'], inputs);
      expect(batch.result.results.flatMap(({ error }) => error ?? [])).toEqual([]);
      for (const name of ['phone.heic', 'jpeg.jxl', 'pixels.jxl', 'camera.dng', 'page.pdf']) {
        const pixels = await batch.pixels(name);
        const [width, height] = name === 'page.pdf' ? [200, 150] : [64, 48];
        expect([name, quarters(pixels), pixels.width, pixels.height]).toEqual([
          name,
          'RGBW',
          width,
          height,
        ]);
        expect(pixels.metadata.orientation ?? 1, name).toBe(1);
      }
      for (const name of ['phone.heic', 'jpeg.jxl']) {
        const { exif, xmp } = (await batch.pixels(name)).metadata;
        expect(exif?.toString('latin1'), name).toContain('Camera Obscura');
        expect(xmp?.toString(), name).toContain('a private place');
      }
      expect((await batch.pixels('camera.dng')).metadata.exif?.toString('latin1')).toContain(
        'Oriel Cameras',
      );
      for (const name of ['p3.heic', 'orange.jxl']) {
        const { metadata, rgb } = await batch.pixels(name);
        expect(isDisplayP3(metadata.icc!), name).toBe(true);
        expectColour(rgb(8, 8), ORANGE.p3, 3, name);
      }
      expect((await batch.pixels('twelve-bits.heic')).deep).toBe(true);
      await expectStored(batch.bytes('sixteen-bits.jxl'), deep);
    });

    test('are inputs of every operation', async () => {
      const inputs = { 'phone.heic': files['phone.heic'], 'orange.jxl': files['orange.jxl'] };
      const resized = await runBatch(['resize', '--width', '32'], inputs);
      expect(resized.result.results).toMatchObject([
        { format: 'png', width: 32, height: 24 },
        { format: 'jxl', width: 16, height: 16 },
      ]);
      const facts = await runBatch(['metadata'], files as never as Record<string, Buffer>);
      const factsOf = (name: string) => facts.record(name).data;
      expect(factsOf('phone.heic')).toMatchObject({
        ...{ format: 'heic', mediaType: 'image/heic', ...SIZE },
        exif: { model: 'Camera Obscura' },
      });
      expect(factsOf('sixteen-bits.jxl')).toMatchObject({ format: 'jxl', depth: 'ushort' });
      expect(factsOf('page.pdf')).toMatchObject({ format: 'pdf', width: 200, density: 150 });
      const palette = await runBatch(['palette'], { a: files['phone.heic'] });
      expect(palette.result.summary.succeeded).toBe(1);
      const shown = await runOne(['convert', '--format', 'png'], files['p3.heic']);
      expectColour(shown.rgb(8, 8), ORANGE.srgb, 3);
    });

    test('of an animated JPEG XL the first frame is read', async () => {
      const frames = [quadrants(SIZE), photo(SIZE)];
      const gif = await animatedGif(frames, { delay: [100, 100], loop: 0 });
      const jxl = encoded(temporaryFolder(), gif, 'cjxl');
      const { result } = await runBatch(['convert', '--format', 'webp'], { 'a.jxl': jxl });
      const message = 'only the first of 2 frames is read of an animated JXL';
      expect(result.results).toMatchObject([{ warnings: [{ code: 'animation_lost', message }] }]);
    });

    test('JPEG XL is written: without loss, smaller by quality, with profile and metadata', async () => {
      const write = async (input: Buffer, ...args: string[]) =>
        (await runBatch(['convert', '--format', 'jxl', ...args], { 'a.png': input })).bytes(
          'a.png',
        );
      const back = async (jxl: Buffer) =>
        (await runOne(['convert', '--format', 'png', '--metadata', 'all'], jxl, 'a.jxl')).bytes;
      await expectStored(await back(await write(files.deep, '--lossless')), files.deep);
      const glass = await pngOf(painted({ ...SIZE, channels: 4 }, (x) => [200, 10, 10, x * 4]));
      await expectStored(await back(await write(glass, '--lossless')), glass);
      const sizes = await Promise.all(
        ['30', '60', '90'].map(
          async (quality) => (await write(files.deep, '--quality', quality)).length,
        ),
      );
      expect(sizes).toEqual(sizes.toSorted((one, other) => one - other));
      const all = await tagged(quadrants(SIZE).rotate(270)).withIccProfile('p3').png().toBuffer();
      const { exif, xmp, icc } = await sharp(
        await back(await write(all, '--metadata', 'all')),
      ).metadata();
      expect(exif?.toString('latin1')).toContain('Camera Obscura');
      expect(xmp?.toString()).toContain('a private place');
      expect(isDisplayP3(icc!)).toBe(true);
      const none = await sharp(await back(await write(all))).metadata();
      expect([none.exif?.includes('Obscura'), none.xmp]).toEqual([false, undefined]);
      const searched = await runBatch(['optimize', '--format', 'jxl', '--target-ssim', '0.97'], {
        a: files.deep,
      });
      expect(searched.record('a').data).toMatchObject({ reached: true });
    });

    test.each([
      ['more pixels than the limit', ['--max-pixels', '0.001'], null, 'image_too_large'],
      ['an end in the middle', [], 0.5, 'corrupt_image'],
      ['their first bytes alone', [], 0.02, 'corrupt_image'],
    ] as const)('files with %s fail by name', async (_, flags, share, code) => {
      const { deep, 'p3.heic': p3, 'orange.jxl': orange, ...inputs } = files;
      const cut = Object.entries(inputs).map(([name, bytes]) => {
        const length =
          share === null ? bytes.length : Math.max(40, Math.ceil(bytes.length * share));
        return [name, bytes.subarray(0, length)] as const;
      });
      const batch = await runBatch(
        ['convert', '--format', 'webp', ...flags],
        Object.fromEntries(cut),
      );
      for (const { inputFilename, error } of batch.result.results) {
        expect(error?.code, `${inputFilename}: ${error?.message}`).toBe(code);
      }
    });

    test.each<readonly [name: string, file: () => Buffer, code: string | undefined]>([
      ['a page of 40 square metres', () => pdf(14_400, 14_400, QUARTERS), 'image_too_large'],
      [
        'a script',
        () => pdf(96, 72, QUARTERS, '/OpenAction<</S/JavaScript/JS(for(;;);)>>'),
        undefined,
      ],
      ['raw without a preview', () => raw(null), 'corrupt_image'],
      ['PNG by the name of another', () => files.deep, undefined],
      ['PDF by the name of another', () => files['page.pdf'], undefined],
      [
        'a signature of JPEG XL before PDF',
        () => Buffer.from('\xff\x0a%PDF-1.4', 'latin1'),
        'corrupt_image',
      ],
    ])('%s is drawn or fails by name', async (_, file, code) => {
      const { error } = await inFolder(['convert', '--format', 'webp', '--', '-h.jxl'], {
        '-h.jxl': file(),
      });
      expect(error?.code, error?.message).toBe(code);
    });

    test('an endless page ends at the deadline, with its program and folder', async () => {
      const line = ['convert', '--format', 'webp', '--timeout', '1', 'a.pdf'];
      const { error } = await inFolder(line, { 'a.pdf': endless() });
      expect(error?.code).toBe('timeout');
    });

    test('a folder for temporary files that is missing is no damage of the image', async () => {
      const line = ['convert', '--format', 'webp', 'a.jxl'];
      const TMPDIR = join(temporaryFolder(), 'absent');
      const { error } = await inFolder(line, { 'a.jxl': files['jpeg.jxl'] }, { TMPDIR });
      expect(error).toEqual({
        code: 'processing_failed',
        message: 'temporary files (TMPDIR) cannot be written: no such file or directory',
      });
    });

    test.each([
      ['', ''],
      // The parent dies before setpriv has bound the program to its life.
      [
        ' that has just started',
        'case $* in *pdftoppm*) parent=$PPID; while [ -e /proc/$parent ]; do sleep 0.05; done; esac',
      ],
    ])(
      'a killed command ends its program%s, and the next one removes the folder',
      async (_, wait) => {
        const [cwd, TMPDIR, own] = [temporaryFolder(), temporaryFolder(), temporaryFolder()];
        const setpriv = `#!/bin/sh\n${wait}\nexec ${findProgram(['setpriv'])} "$@"\n`;
        writeFileSync(join(own, 'setpriv'), setpriv, { mode: 0o755 });
        writeFileSync(join(cwd, 'endless.pdf'), endless());
        writeFileSync(join(cwd, 'a.pdf'), files['page.pdf']);
        const options = { cwd, env: { TMPDIR } };
        const PATH = `${own}:${process.env['PATH']}`;
        const line = ['convert', '--format', 'webp', 'endless.pdf'];
        const run = start(line, { cwd, env: { TMPDIR, PATH } });
        await until(() => programsIn(TMPDIR).some((pid) => commandOf(pid).includes('pdftoppm')));
        run.child.kill('SIGKILL');
        await until(() => programsIn(TMPDIR).length === 0);
        await run.ended;
        expect((await oriel(['convert', '--format', 'webp', 'a.pdf'], options)).code).toBe(0);
        expect(foldersIn(TMPDIR)).toEqual([]);
      },
    );

    test('batches of the daemon read and write them, and programs end with their process', async () => {
      const TMPDIR = temporaryFolder();
      const daemon = await startDaemon({ env: { TMPDIR } });
      const send = async (endpoint: string, own: Readonly<Record<string, Buffer>>, format = '') => {
        const form = new FormData();
        for (const [name, bytes] of Object.entries(own))
          form.append('files', new Blob([new Uint8Array(bytes)]), name);
        if (format) form.append('format', format);
        return daemon.request(`/api/free/${endpoint}`, { method: 'POST', body: form });
      };
      const { deep, ...inputs } = files;
      const zip = await (await send('batch-convert-images', inputs, 'jxl')).text();
      expect(zip).toContain('"succeeded": 9');
      const answer = send('batch-color-palette', { 'endless.pdf': endless() });
      // pdfinfo, which runs before, ends too soon to be found twice.
      const drawing = () => programsIn(TMPDIR).filter((pid) => commandOf(pid).includes('pdftoppm'));
      // A job whose process dies has one more attempt.
      for (let attempt = 0; attempt < 2; attempt += 1) {
        await until(() => drawing().length > 0);
        const [program] = drawing();
        const status = readFileSync(`/proc/${program}/status`, 'utf8');
        process.kill(Number(/^PPid:\t(\d+)$/m.exec(status)![1]), 'SIGKILL');
        await until(() => !programsIn(TMPDIR).includes(program!));
      }
      const body = await (await answer).json();
      expect(body).toMatchObject({ results: [{ error: { code: 'worker_crashed' } }] });
      await until(() => programsIn(TMPDIR).length + foldersIn(TMPDIR).length === 0);
    });
  },
);

test('a setting switches programs off', async () => {
  const daemon = await startDaemon({ config: { batch: { programs: false } } });
  const form = new FormData();
  form.append('files', new Blob([pdf(96, 72, QUARTERS)]), 'a.pdf');
  const answer = await daemon.request('/api/free/batch-color-palette', {
    method: 'POST',
    body: form,
  });
  const message = 'PDF images are not supported here: programs for them are switched off';
  expect(await answer.json()).toMatchObject({
    results: [{ error: { code: 'unsupported_format', message } }],
  });
});

test('formats whose programs are missing name the packages, and folders skip them', async () => {
  const none = { PATH: temporaryFolder() };
  const run = await inFolder(
    ['convert', '--format', 'webp', 'a.pdf'],
    { 'a.pdf': pdf(96, 72, QUARTERS) },
    none,
  );
  expect(run.error).toMatchObject({ code: 'unsupported_format' });
  expect(run.error?.message).toMatch(
    /^PDF images need a program: pdftoppm is not installed: apt install poppler-utils/,
  );
  const png = { 'a.png': await pngOf(quadrants(SIZE)) };
  const jxl = await inFolder(['convert', '--format', 'jxl', 'a.png'], png, none);
  expect(jxl.error?.message).toContain(
    'cjxl is not installed: apt install libjxl-tools (Debian), dnf',
  );
  const folder = await inFolder(
    ['convert', '--format', 'webp', '--recursive', '.'],
    {
      ...png,
      'b.jxl': Buffer.from('\xff\x0a', 'latin1'),
    },
    none,
  );
  expect([folder.run.code, folder.results.map(({ status }) => status)]).toEqual([
    0,
    ['succeeded', 'skipped'],
  ]);
});

test('oriel formats lists what reads and writes each format', async () => {
  const { out } = await oriel(['formats', '--json'], { env: { PATH: temporaryFolder() } });
  const { formats } = JSON.parse(out) as { formats: { format: string }[] };
  const of = (name: string) => formats.find(({ format }) => format === name);
  expect(of('webp')).toMatchObject({ read: 'libvips', write: 'libvips', missing: null });
  expect(of('heic')).toMatchObject({ read: null, write: null });
  const table = await oriel(['formats'], { env: { PATH: temporaryFolder() } });
  expect(table.out).toMatch(/^raw {2,}- +- +dng cr2/m);
  expect(table.out).toContain(
    'heic: heif-dec or heif-convert is not installed: apt install libheif-examples',
  );
});

test('oriel doctor lists the programs', async () => {
  const { out } = await oriel([
    'doctor',
    '--only',
    'programs',
    '--json',
    '--data',
    temporaryFolder(),
  ]);
  expect(out).toMatch(/"(pdf|heic): /);
});
