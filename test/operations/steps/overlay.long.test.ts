import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import sharp from 'sharp';
import { afterAll, describe, expect, test } from 'vitest';
import type { BatchResult } from '../../../src/operations/batch/batch-record.ts';
import { runBatch, runOne } from '../../batch.ts';
import { HAS_FONTS } from '../../fixtures/fonts.ts';
import {
  animatedGif,
  painted,
  photo,
  pngOf,
  quadrants,
  type Samples,
  type Size,
} from '../../fixtures/images.ts';
import { oriel, temporaryFolder } from '../../oriel.ts';
import { decode, differences, expectColour, type Pixels } from '../../pixels.ts';
import { residentCommand } from '../../resident.ts';
import { runs } from '../../runs.ts';

const resident = residentCommand();

const SIZE = { width: 60, height: 40 };
const LOGO = { width: 10, height: 6 };
/** Every pixel encodes its position. */
const place = (x: number, y: number) => [x * 4, y * 6, 90];
const mark = (x: number, y: number) => [200 - x * 9, 10 + y * 30, 250];
const base = await pngOf(painted(SIZE, place));

const folder = mkdtempSync(join(tmpdir(), 'oriel-test-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
function fileOf(name: string, bytes: Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
}
const logo = fileOf('logo.png', await pngOf(painted(LOGO, mark)));
const half = fileOf(
  'half.png',
  await pngOf(painted({ ...LOGO, channels: 4 }, (x, y) => [...mark(x, y), 128])),
);

/** What an image becomes with another over it, by flags between spaces. */
const laid = (flags: string, { over = logo, below = base, name = 'a.png' } = {}) =>
  runOne(['overlay', '--image', over, ...flags.split(' ').filter(Boolean)], below, name);
const flatFile = async (name: string, size: Size, background: string) =>
  fileOf(name, await pngOf(sharp({ create: { ...size, channels: 3, background } })));

const HAS_COMPOSITE =
  spawnSync('composite', ['-version']).stdout?.toString().includes('ImageMagick') ?? false;
if (!HAS_COMPOSITE) console.warn('skipped: comparison with composite, which is not installed');

const insideOf =
  (left: number, top: number, { width, height } = LOGO) =>
  (x: number, y: number) =>
    x >= left && y >= top && x < left + width && y < top + height;

/** Pixels that differ from the image without an overlay. */
function inkOf(pixels: Pixels, original: (x: number, y: number) => Samples, page = 0) {
  const ink = differences(pixels, original, { tolerance: 8, page, atMost: Infinity });
  const xs = ink.map(({ x }) => x);
  const ys = ink.map(({ y }) => y);
  return {
    count: ink.length,
    ...{ left: Math.min(...xs), right: Math.max(...xs) },
    ...{ top: Math.min(...ys), bottom: Math.max(...ys) },
  };
}

describe('an image laid over another', () => {
  test.each([
    ['', 50, 34],
    ['--gravity northwest', 0, 0],
    ['--gravity center', 25, 17],
    ['--gravity northwest --x 3 --y 5', 3, 5],
    ['--x 3 --y 5', 47, 29],
    ['--gravity center --x=-5 --y 2', 20, 19],
    ['--x=-4 --y=-2', 54, 36],
    ['--gravity northwest --x=-4 --y=-2', -4, -2],
  ])('%s is at %i,%i', async (flags, left, top) => {
    const pixels = await laid(flags);
    const inside = insideOf(left, top);
    expect(
      differences(pixels, (x, y) => (inside(x, y) ? mark(x - left, y - top) : place(x, y))),
    ).toEqual([]);
  });

  test.each([
    ['half transparent', half, '', 128 / 255],
    ['with opacity', logo, '--opacity 0.25', 64 / 255],
    ['both', half, '--opacity 0.5', 64 / 255],
  ])('%s mixes the colours', async (_, over, flags, alpha) => {
    const pixels = await laid(flags, { over });
    const inside = insideOf(50, 34);
    const mixed = (x: number, y: number) => {
      const above = mark(x - 50, y - 34);
      return place(x, y).map((below, channel) => below * (1 - alpha) + above[channel]! * alpha);
    };
    expect(
      differences(pixels, (x, y) => (inside(x, y) ? mixed(x, y) : place(x, y)), { tolerance: 1.5 }),
    ).toEqual([]);
  });

  test('is scaled to a share of the width, and shrunk where it is too large', async () => {
    const scaled = await laid('--scale 0.5');
    expect(inkOf(scaled, place)).toMatchObject({ left: 30, right: 59, top: 22, bottom: 39 });
    const over = fileOf('large.png', await pngOf(quadrants({ width: 300, height: 300 })));
    const shrunk = await laid('--gravity west --x 10', { over });
    expect(inkOf(shrunk, place)).toMatchObject({ left: 10, right: 49, top: 0, bottom: 39 });
  });

  test('as tiles repeats over the whole image from its place', async () => {
    const pixels = await laid('--tile --gap 2 --gravity northwest --x 3 --y 1');
    const expected = (x: number, y: number) => {
      const [column, row] = [(x - 3 + 12) % 12, (y - 1 + 8) % 8];
      return column < 10 && row < 6 ? mark(column, row) : place(x, y);
    };
    expect(differences(pixels, expected)).toEqual([]);
  });

  test('turned by an angle has transparent corners', async () => {
    const over = await flatFile('red.png', { width: 20, height: 20 }, 'red');
    const pixels = await laid('--gravity center --angle 45', { over });
    expectColour(pixels.rgb(30, 20), [255, 0, 0]);
    expectColour(pixels.rgb(30, 9), [255, 0, 0], 60);
    expectColour(pixels.rgb(20, 10), place(20, 10));
  });

  test.each(['multiply', 'screen', 'darken', 'lighten', 'difference'])('%s', async (blend) => {
    const pixels = await laid(`--blend ${blend}`);
    const mix: Record<string, (a: number, b: number) => number> = {
      multiply: (a, b) => (a * b) / 255,
      screen: (a, b) => a + b - (a * b) / 255,
      darken: Math.min,
      lighten: Math.max,
      difference: (a, b) => Math.abs(a - b),
    };
    const above = mark(5, 3);
    const expected = place(55, 37).map((below, at) => mix[blend]!(below, above[at]!));
    expectColour(pixels.rgb(55, 37), expected, 1.5);
  });
});

describe('the image below', () => {
  test('keeps sixteen bits, and pixels beside the overlay exactly', async () => {
    const deepPlace = (x: number, y: number) => [x * 1091, y * 1637, 30_001];
    const below = await pngOf(painted({ ...SIZE, deep: true }, deepPlace));
    const pixels = await laid('', { below });
    expect(pixels.deep).toBe(true);
    const inside = insideOf(50, 34);
    const expected = (x: number, y: number) =>
      inside(x, y) ? mark(x - 50, y - 34).map((sample) => sample * 257) : deepPlace(x, y);
    expect(differences(pixels, expected)).toEqual([]);
  });

  test('stays grey under a grey overlay and takes the colours of another', async () => {
    const grey = await pngOf(painted({ ...SIZE, channels: 1 }, (x, y) => [x * 2 + y]));
    const over = await flatFile('dot.png', LOGO, '#808080');
    const greyed = await laid('', { over, below: grey });
    expect(greyed.metadata.space).toBe('b-w');
    const below = (x: number, y: number) => Array<number>(3).fill(x * 2 + y);
    const inside = insideOf(50, 34);
    expect(differences(greyed, (x, y) => (inside(x, y) ? [128, 128, 128] : below(x, y)))).toEqual(
      [],
    );
    const coloured = await laid('', { below: grey });
    expect(
      differences(coloured, (x, y) => (inside(x, y) ? mark(x - 50, y - 34) : below(x, y))),
    ).toEqual([]);
  });

  test('keeps its transparency, and shows the overlay on transparent pixels', async () => {
    const clear = await pngOf(
      painted({ ...SIZE, channels: 4 }, (x, y) => [...place(x, y), x < 55 ? 100 : 0]),
    );
    const pixels = await laid('--y 4', { below: clear });
    expect([pixels.alpha(10, 10), pixels.alpha(59, 10), pixels.alpha(57, 32)]).toEqual([
      100, 0, 255,
    ]);
    expectColour(pixels.rgb(57, 32), mark(7, 2));
    expectColour(pixels.rgb(10, 10), place(10, 10), 2);
    const jpeg = await laid('--format jpeg --quality 95', { below: clear });
    expectColour(
      jpeg.rgb(2, 2),
      place(2, 2).map((below) => 255 - ((255 - below) * 100) / 255),
      12,
    );
  });

  test.each([
    ['p3', ['overlay_colours_not_converted']],
    ['srgb', []],
  ])('with the profile %s that is kept has the warnings %j', async (profile, codes) => {
    const below = await photo(SIZE).withIccProfile(profile).jpeg().toBuffer();
    const { warnings, metadata } = await laid('--metadata icc', { below, name: 'a.jpg' });
    expect([warnings, metadata.hasProfile]).toEqual([codes, true]);
  });

  test('of inks is converted before', async () => {
    const cmyk = await painted(SIZE, () => [60, 120, 180])
      .toColourspace('cmyk')
      .jpeg({ quality: 95 })
      .toBuffer();
    const { rgb } = await laid('--format png', { below: cmyk, name: 'a.jpg' });
    const plain = await runOne(['convert', '--format', 'png'], cmyk, 'a.jpg');
    expectColour(rgb(2, 2), plain.rgb(2, 2));
    expectColour(rgb(55, 37), mark(5, 3));
  });

  test('has the overlay on every frame of an animation', async () => {
    const frames = [quadrants(SIZE), painted(SIZE, () => [0, 0, 0]), quadrants(SIZE)];
    const below = await animatedGif(frames, { delay: [100, 200, 300], loop: 2 });
    const over = await flatFile('fuchsia.png', LOGO, 'fuchsia');
    const pixels = await laid('', { over, below, name: 'a.gif' });
    expect([pixels.pages, pixels.metadata.delay]).toEqual([3, [100, 200, 300]]);
    for (const page of [0, 1, 2]) expectColour(pixels.rgb(55, 37, page), [255, 0, 255], 8);
    expectColour(pixels.rgb(5, 5, 1), [0, 0, 0], 8);
  });
});

test.skipIf(!HAS_COMPOSITE)('an overlay has the pixels of composite', async () => {
  const cwd = temporaryFolder();
  const below = await pngOf(photo({ width: 200, height: 120 }));
  writeFileSync(join(cwd, 'a.png'), below);
  const soft = await pngOf(
    painted({ width: 50, height: 30, channels: 4 }, (x, y) =>
      [x * 5, 255 - y * 8, x * y].concat((x * 5 + y) % 256),
    ),
  );
  writeFileSync(join(cwd, 'logo.png'), soft);
  const args = ['-gravity', 'southwest', '-geometry', '+7+9', 'logo.png', 'a.png', 'im.png'];
  expect(spawnSync('composite', args, { cwd }).status).toBe(0);
  const flags = ['--gravity', 'southwest', '--x', '7', '--y', '9', '--out', 'ours.png'];
  await resident(['overlay', '--image', 'logo.png', ...flags, 'a.png', '-q'], { cwd });
  const theirs = await decode(readFileSync(join(cwd, 'im.png')));
  const ours = await decode(readFileSync(join(cwd, 'ours.png')));
  expect(differences(ours, (x, y) => theirs.rgb(x, y), { tolerance: 1 })).toEqual([]);
});

describe.skipIf(!HAS_FONTS)('a text', () => {
  const black = (size = { width: 400, height: 200 }) => pngOf(painted(size, () => [0, 0, 0]));
  const dark = () => [0, 0, 0];

  test('is drawn in its size, colour and place', async () => {
    const flags = ['--size', '40', '--color', '#ff0000', '--gravity', 'northwest'];
    const pixels = await runOne(['overlay', '--text', 'Hx', ...flags], await black());
    const ink = inkOf(pixels, dark);
    expect([ink.left, ink.top]).toEqual([expect.closeTo(0, -1), expect.closeTo(0, -1)]);
    // Capitals of DejaVu Sans are 0.73 of its size high.
    expect(ink.bottom).toBeGreaterThan(26);
    expect(ink.bottom).toBeLessThan(32);
    for (let x = 0; x < 60; x += 1) expect(pixels.rgb(x, 15).slice(1)).toEqual([0, 0]);
  });

  test('is as wide as its scale, and has a box', async () => {
    const flags = ['--scale', '0.5', '--box', '#00ff00', '--gravity', 'northwest'];
    const ink = inkOf(await runOne(['overlay', '--text', 'Oriel', ...flags], await black()), dark);
    expect(Math.abs(ink.right - 200)).toBeLessThan(8);
  });

  test('that is wider than the image has lines with letters of the same size', async () => {
    const text = 'Words that go on and on until the image has no room for them in one line alone';
    const lines = ['Words that go on and', 'Words that go on and\nuntil the image has no'];
    const flags = ['--size', '30', '--gravity', 'northwest'];
    const inkOfText = async (one: string, ...others: string[]) =>
      inkOf(await runOne(['overlay', '--text', one, ...flags, ...others], await black()), dark);
    const [one, two] = [await inkOfText(lines[0]!), await inkOfText(lines[1]!)];
    const wrapped = await inkOfText(text);
    expect(wrapped.right).toBeGreaterThan(300);
    expect(wrapped.right).toBeLessThan(400);
    expect(wrapped.bottom).toBeGreaterThan(two.bottom + (two.bottom - one.bottom) * 0.9);
    const right = await inkOfText(text, '--gravity', 'northeast');
    expect(right.right).toBe(399);
    expect(right.bottom).toBe(wrapped.bottom);
  });

  test.each([
    [{ 'a.png': 60 }, ['--text', 'x'.repeat(250)], ['text_small']],
    [{ 'a.png': 60 }, ['--text', 'Oriel', '--scale', '0.2'], ['text_small']],
    [{ 'a.png': 60 }, ['--text', 'Oriel', '--size', '5'], []],
    [{ 'a.png': 400 }, ['--text', 'x'.repeat(250)], []],
  ])('of fewer than eight pixels has a warning: %j %j', async (sides, args, codes) => {
    const [[name, side]] = Object.entries(sides) as [[string, number]];
    const noise = { width: side, height: side, channels: 3, background: 'black' } as const;
    const png = await pngOf(sharp({ create: noise }));
    expect((await runBatch(['overlay', ...args], { [name]: png })).warnings(name)).toEqual(codes);
  });

  test('has name, number and date of each image, and no markup', async () => {
    const widths = new Map<string, number>();
    for (const text of ['{name} {index} {date:YYYY}', '{name}', '<b>ab</b>', 'ab', '&amp;']) {
      const flags = ['--size', '20', '--gravity', 'northwest'];
      const { code, pixels, record } = await runBatch(['overlay', '--text', text, ...flags], {
        'ab.png': await black(),
      });
      expect([text, code, record('ab.png').error]).toEqual([text, 0, undefined]);
      widths.set(text, inkOf(await pixels('ab.png'), dark).right);
    }
    expect(widths.get('{name}')).toBe(widths.get('ab'));
    expect(widths.get('<b>ab</b>')).toBeGreaterThan(widths.get('ab')! * 2);
    expect(widths.get('&amp;')).toBeGreaterThan(widths.get('ab')!);
    expect(widths.get('{name} {index} {date:YYYY}')).toBeGreaterThan(widths.get('ab')! * 3);
  });

  test('in a font that is not installed fails, and with a generic one succeeds', async () => {
    const png = { 'a.png': await black() };
    const missing = await runBatch(['overlay', '--text', 'x', '--font', 'No Such Font'], png);
    expect(missing.record('a.png').error).toMatchObject({
      code: 'font_not_found',
      message: expect.stringContaining('No Such Font'),
    });
    for (const font of ['No Such Font, sans-serif', 'DejaVu Sans Bold', 'dejavu sans', 'serif']) {
      const { code } = await runBatch(['overlay', '--text', 'x', '--font', font], png);
      expect([font, code]).toEqual([font, 0]);
    }
  });

  test('with characters that no font has gets a warning', async () => {
    for (const [text, codes] of [
      ['a\u0378\u{1ff81}b', ['characters_missing']],
      ['© Größe, Ωμέγα жук “x” – 1€', []],
    ] as const) {
      const { warnings } = await runOne(['overlay', '--text', text], await black());
      expect(warnings).toEqual(codes);
    }
  });

  test('without any font fails', async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'a.png'), base);
    const config = `<?xml version="1.0"?><fontconfig><dir>${cwd}/none</dir><cachedir>${cwd}/cache</cachedir></fontconfig>`;
    writeFileSync(join(cwd, 'fonts.conf'), config);
    const env = { FONTCONFIG_FILE: join(cwd, 'fonts.conf') };
    const run = await oriel(['overlay', '--text', 'x', 'a.png', '--out', 'out', '--json'], {
      cwd,
      env,
    });
    const { results } = JSON.parse(run.out) as BatchResult;
    expect([run.code, results[0]!.error?.code]).toEqual([1, 'font_not_found']);
    expect(results[0]!.error?.message).toContain('no font is installed');
  });

  test('that is long or large is shrunk to the image', async () => {
    const text = 'W'.repeat(300);
    const pixels = await runOne(['overlay', '--text', text, '--size', '2000'], await black());
    expect([pixels.width, pixels.height]).toEqual([400, 200]);
    const tall = await runOne(
      ['overlay', '--text', 'a\n'.repeat(9), '--size', '2000'],
      await black(),
    );
    expect(inkOf(tall, dark).top).toBeGreaterThanOrEqual(0);
  });
});

describe('faults are named before any work', () => {
  test('neither an image nor a text', async () => {
    const fault = 'one of --image and --text is required';
    await expect(runBatch(['overlay'], { 'a.png': base })).rejects.toThrow(fault);
  });

  test.each([
    [['--image', 'x.png', '--text', 'x'], '--text'],
    [['--image', logo, '--font', 'Inter'], '--font'],
    [['--image', logo, '--size', '9'], '--size'],
    [['--image', logo, '--gap', '9'], '--gap'],
    [['--image', logo, '--opacity', '2'], '--opacity'],
    [['--image', logo, '--scale', '0'], '--scale'],
    [['--image', logo, '--gravity', 'attention'], '--gravity'],
    [['--text', '{width}'], '--text'],
    [['--text', '{name'], '--text'],
    [['--text', 'x'.repeat(301)], '--text'],
    [['--text', 'a\n'.repeat(10)], '--text'],
    [['--text', ' \u200b'], '--text'],
    [['--text', 'a\u0007'], '--text'],
    [['--text', 'x', '--size', '1000000000'], '--size'],
    [['--text', 'x', '--size', '20', '--scale', '0.2'], '--size'],
    [['--text', 'x', '--font', '<b>'], '--font'],
    [['--text', 'x', '--font', 'Inter 1e9px @wght=1'], '--font'],
    [['--image', 'missing.png'], '--image'],
    [['--image', '.'], '--image'],
    [['--image', '/dev/zero'], '--image'],
  ])('%j: %s', async (flags, name) => {
    await expect(runBatch(['overlay', ...flags], { 'a.png': base })).rejects.toThrow(`${name}: `);
  });

  test('an overlay that is damaged or outside of the image fails each file', async () => {
    const broken = fileOf('broken.png', Buffer.from('no image'));
    const damaged = await runBatch(['overlay', '--image', broken], { 'a.png': base });
    expect(damaged.record('a.png').error?.message).toContain(`${broken}: `);
    const outside = await runBatch(
      ['overlay', '--image', logo, '--gravity', 'northwest', '--x=-10'],
      { 'a.png': base },
    );
    expect(outside.record('a.png').error?.code).toBe('overlay_out_of_bounds');
  });

  test('the limits of inputs hold for overlays', async () => {
    const large = await flatFile('pixels.png', { width: 2000, height: 600 }, 'red');
    const flags = ['--image', large, '--max-pixels', '1'];
    const { record } = await runBatch(['overlay', ...flags], { 'a.png': base });
    expect(record('a.png').error).toMatchObject({
      code: 'image_too_large',
      message: expect.stringContaining('pixels.png'),
    });
    const svg = fileOf(
      'logo.svg',
      Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>'),
    );
    const refused = await runBatch(['overlay', '--image', svg], { 'a.png': base });
    expect(refused.record('a.png').error?.message).toContain('--allow-svg');
  });
});

describe('recipes', () => {
  test('find the image beside the recipe, and keep the order of steps', async () => {
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, 'recipes'));
    writeFileSync(join(cwd, 'a.png'), base);
    writeFileSync(join(cwd, 'recipes', 'logo.png'), readFileSync(logo));
    const overlay = { overlay: { image: 'logo.png', gravity: 'northwest' } };
    const others = [
      { resize: { width: 30 } },
      { crop: { percent: 50 } },
      { rotate: { angle: 90 } },
      { extend: { left: 4, background: '#204080' } },
      { blur: { sigma: 1 } },
      { modulate: { saturation: 1.4 } },
      { greyscale: {} },
      { overlay: { image: 'logo.png', gravity: 'center', blend: 'multiply' } },
    ];
    const pairs = others.flatMap((other) => [
      [overlay, other],
      [other, overlay],
    ]);
    const outputs = pairs.map((steps, index) => ({ name: `${index}.png`, steps }));
    writeFileSync(join(cwd, 'recipes', 'r.yaml'), JSON.stringify({ outputs }));
    const { code, stderr } = await resident(
      ['run', 'recipes/r.yaml', 'a.png', '--out', 'out', '-q'],
      { cwd },
    );
    expect([code, stderr]).toEqual([0, '']);
    const flagsOf = (options: object) =>
      Object.entries(options).map(([name, value]) => `--${name}=${value}`);
    for (const [index, steps] of pairs.entries()) {
      let from = 'a.png';
      for (const [at, step] of steps.entries()) {
        const [[name, options]] = Object.entries(step) as [[string, Record<string, string>]];
        const own = options['image'] ? { ...options, image: 'recipes/logo.png' } : options;
        const out = `step-${index}-${at}.png`;
        const run = await resident([name, ...flagsOf(own), from, '--out', out, '-q'], { cwd });
        expect([run.code, run.stderr]).toEqual([0, '']);
        from = out;
      }
      const expected = await decode(readFileSync(join(cwd, from)));
      const actual = await decode(readFileSync(join(cwd, 'out', `${index}.png`)));
      expect([actual.width, actual.height]).toEqual([expected.width, expected.height]);
      expect(differences(actual, (x, y) => expected.rgb(x, y), { tolerance: 1 })).toEqual([]);
    }
  });

  test('with an image that is missing are refused', async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'a.png'), base);
    writeFileSync(
      join(cwd, 'r.yaml'),
      JSON.stringify({ steps: [{ overlay: { image: 'no.png' } }] }),
    );
    const nul = JSON.stringify({ steps: [{ overlay: { image: 'a\0b' } }] });
    writeFileSync(join(cwd, 'r2.yaml'), nul);
    const odd = await resident(['run', 'r2.yaml', 'a.png', '--out', 'out'], { cwd });
    expect([odd.code, odd.stderr]).toEqual([2, expect.stringMatching(/^oriel: image: .*\n$/)]);
    const run = await resident(['run', 'r.yaml', 'a.png', '--out', 'out'], { cwd });
    expect(run.code).toBe(2);
    expect(run.stderr).toContain('no.png');
    expect(readdirSync(cwd).sort()).toEqual(['a.png', 'r.yaml', 'r2.yaml']);
  });
});

test('a run with a cache redoes what another overlay changes', async () => {
  const cwd = temporaryFolder();
  for (const name of ['a.png', 'b.png']) writeFileSync(join(cwd, name), base);
  writeFileSync(join(cwd, 'logo.png'), readFileSync(logo));
  const run = async (...flags: string[]) => {
    const args = ['overlay', ...flags, 'a.png', 'b.png', '--out', 'out', '--incremental', '--json'];
    const { out } = await resident(args, { cwd });
    const { results } = JSON.parse(out) as BatchResult;
    return results.map(({ status, reason, sha256 }) => reason?.code ?? `${status} ${sha256}`);
  };
  const image = ['--image', 'logo.png'];
  const first = await run(...image);
  expect(await run(...image)).toEqual(['unchanged', 'unchanged']);
  writeFileSync(join(cwd, 'logo.png'), readFileSync(half));
  const second = await run(...image);
  expect(second.every((one) => one.startsWith('succeeded'))).toBe(true);
  expect(second).not.toEqual(first);
  if (!HAS_FONTS) return;
  const numbered = await run('--text', '{index}', '--size', '20');
  expect(new Set(numbered).size).toBe(2);
  expect(await run('--text', '{index}', '--size', '20')).toEqual(['unchanged', 'unchanged']);
  const named = await run('--text', '{name}', '--size', '20');
  expect(named.every((one) => one.startsWith('succeeded'))).toBe(true);
});

test('any options give an image of the same size, or an error that names the fault', async () => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'a.png'), base);
  const value = (...usual: readonly string[]) =>
    fc.oneof(fc.constantFrom(...usual), fc.string({ maxLength: 12 }));
  const flag = fc.oneof(
    fc.tuple(fc.constant('--gravity'), value('north', 'center', 'southwest')),
    fc.tuple(fc.constant('--x'), value('0', '-70', '65535', '3')),
    fc.tuple(fc.constant('--y'), value('0', '-7', '39', '1e3')),
    fc.tuple(fc.constant('--scale'), value('0.001', '1', '0.3', 'NaN')),
    fc.tuple(fc.constant('--opacity'), value('0.01', '1', '-1')),
    fc.tuple(fc.constant('--angle'), value('0', '90', '-359.5', '45', '400')),
    fc.tuple(fc.constant('--gap'), value('0', '10000', '3')),
    fc.tuple(fc.constant('--blend'), value('overlay', 'soft-light', 'xor')),
    fc.constant(['--tile']),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(flag, { maxLength: 6, selector: ([name]) => name }),
      async (flags) => {
        const given = flags.map(([name, text]) => (text === undefined ? name! : `${name}=${text}`));
        const out = `out-${Math.random()}.png`;
        const args = ['overlay', '--image', logo, ...given, 'a.png', '--out', out, '--json'];
        const { code, out: json, stderr } = await resident(args, { cwd });
        expect([0, 1, 2]).toContain(code);
        if (code === 2) {
          expect(stderr).toMatch(/^oriel: --[a-z]+: /m);
          return;
        }
        const [record] = (JSON.parse(json) as BatchResult).results;
        if (code === 1) expect(record!.error?.code).toBe('overlay_out_of_bounds');
        else expect([record!.width, record!.height]).toEqual([SIZE.width, SIZE.height]);
      },
    ),
    { numRuns: runs(60) },
  );
});
