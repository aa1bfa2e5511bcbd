import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import type { BatchResult } from '../../../src/operations/batch/batch-record.ts';
import { HAS_FONTS } from '../../fixtures/fonts.ts';
import { disc } from '../../fixtures/images.ts';
import { temporaryFolder, words } from '../../oriel.ts';
import { decode, expectColour } from '../../pixels.ts';
import { residentCommand } from '../../resident.ts';

const oriel = residentCommand();

const COLOURS = ['#ff0000', '#00ff00', '#0000ff', '#ffff00', '#ff00ff'];
const plain = (background: string, width = 40, height = 20) =>
  sharp({ create: { width, height, channels: 3, background } })
    .png()
    .toBuffer();
const rgb = (colour: string) =>
  [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));

/** A folder with images whose names are in another order by code points than by numbers. */
async function pictures(): Promise<string> {
  const cwd = temporaryFolder();
  const names = ['p1.png', 'p2.png', 'p9.png', 'p10.png', 'p11.png'];
  for (const [index, name] of names.entries()) {
    writeFileSync(join(cwd, name), await plain(COLOURS[index]!));
  }
  return cwd;
}

const LAYOUT = ['--columns', '2', '--cell', '40x40', '--gap', '4', '--background', '#808080'];
const FILES = ['p1.png', 'p10.png', 'p11.png', 'p2.png', 'p9.png'];
const sheetOf = (cwd: string, name: string) => decode(readFileSync(join(cwd, name)));

interface MontageResult extends BatchResult {
  readonly sheets: readonly {
    outputFilename: string;
    width: number;
    height: number;
    images: number;
    unchanged?: true;
  }[];
}

describe('a contact sheet', () => {
  test('has the images in cells, in the order of the numbers in their names', async () => {
    const cwd = await pictures();
    const run = await oriel(words`montage ${LAYOUT} --out s.png --json ${FILES}`, { cwd });
    expect([run.code, run.stderr.includes('5 of 5')]).toEqual([0, true]);
    const { results, sheets, operation } = JSON.parse(run.out) as MontageResult;
    expect(operation).toBe('montage');
    expect(sheets).toMatchObject([{ outputFilename: 's.png', width: 92, height: 136, images: 5 }]);
    expect(results.map(({ inputFilename, data }) => [inputFilename, data])).toEqual([
      ['p1.png', { sheet: 's.png', row: 1, column: 1 }],
      ['p2.png', { sheet: 's.png', row: 1, column: 2 }],
      ['p9.png', { sheet: 's.png', row: 2, column: 1 }],
      ['p10.png', { sheet: 's.png', row: 2, column: 2 }],
      ['p11.png', { sheet: 's.png', row: 3, column: 1 }],
    ]);
    const pixels = await sheetOf(cwd, 's.png');
    expect([pixels.width, pixels.height]).toEqual([92, 136]);
    for (const [index, colour] of COLOURS.entries()) {
      const [x, y] = [4 + (index % 2) * 44, 4 + Math.floor(index / 2) * 44];
      expectColour(pixels.rgb(x, y + 10), rgb(colour));
      expectColour(pixels.rgb(x + 39, y + 29), rgb(colour));
      expectColour(pixels.rgb(x, y + 9), [128, 128, 128]);
      expectColour(pixels.rgb(x + 39, y + 30), [128, 128, 128]);
    }
    expectColour(pixels.rgb(60, 110), [128, 128, 128]);
  });

  test('keeps the given order, fills cells, and has every format', async () => {
    const cwd = await pictures();
    const flags = [...LAYOUT, '--sort', 'given', '--fit', 'cover', '--gap', '0'];
    for (const ending of ['jpg', 'webp', 'avif', 'gif', 'tiff']) {
      const run = await oriel(words`montage ${flags} --out s.${ending} -q ${FILES}`, { cwd });
      expect([run.code, run.stderr]).toEqual([0, '']);
      const pixels = await sheetOf(cwd, `s.${ending}`);
      expect([pixels.width, pixels.height]).toEqual([80, 120]);
      expectColour(pixels.rgb(60, 20), rgb(COLOURS[3]!), 24, ending);
      expectColour(pixels.rgb(60, 110), [128, 128, 128], 8, ending);
    }
  });

  test('is followed by further ones where not all images fit', async () => {
    const cwd = await pictures();
    const flags = [...LAYOUT, '--rows', '1', '--json'];
    const run = await oriel(words`montage ${flags} --out s.png ${FILES}`, { cwd });
    const { sheets } = JSON.parse(run.out) as MontageResult;
    expect(
      sheets.map(({ outputFilename, width, images }) => [outputFilename, width, images]),
    ).toEqual([
      ['s-1.png', 92, 2],
      ['s-2.png', 92, 2],
      ['s-3.png', 48, 1],
    ]);
    expectColour((await sheetOf(cwd, 's-2.png')).rgb(50, 24), rgb(COLOURS[3]!));
    const small = [...LAYOUT, '--max-side', '100', '--out', 'a{index}.png', '-q', ...FILES];
    expect((await oriel(['montage', ...small], { cwd })).code).toBe(0);
    expect(readdirSync(cwd).filter((name) => name.startsWith('a'))).toEqual(['a1.png', 'a2.png']);
    expect((await sheetOf(cwd, 'a1.png')).height).toBe(92);
  });

  test('has a cross for an image that fails, and exit code 1', async () => {
    const cwd = await pictures();
    writeFileSync(join(cwd, 'p2.png'), 'no image');
    const run = await oriel(words`montage ${LAYOUT} --out s.png --json ${FILES} missing.png`, {
      cwd,
    });
    const { results, summary } = JSON.parse(run.out) as MontageResult;
    expect([run.code, summary.failed]).toEqual([1, 2]);
    expect(results.map(({ error }) => error?.code).filter(Boolean)).toEqual([
      'not_found',
      'unsupported_format',
    ]);
    const pixels = await sheetOf(cwd, 's.png');
    expect(pixels.rgb(4, 4)).toEqual([200, 60, 60]);
    const only = await oriel(words`montage ${LAYOUT} --out t.png -q p2.png`, { cwd });
    expect([only.code, existsSync(join(cwd, 't.png'))]).toEqual([1, false]);
  });

  test('shows transparency on its background, or keeps a transparent one', async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'd.png'), await disc({ width: 30, height: 30 }).png().toBuffer());
    const flags = ['--cell', '30x30', '--gap', '2'];
    await oriel(words`montage ${flags} --background blue --out s.png -q d.png`, { cwd });
    const blue = await sheetOf(cwd, 's.png');
    expectColour(blue.rgb(3, 3), [0, 0, 255]);
    expectColour(blue.rgb(17, 17), [255, 0, 0]);
    const clear = ['--background', 'transparent', '--out', 'c.png', '-q', 'd.png'];
    await oriel(words`montage ${flags} ${clear}`, { cwd });
    const { alpha } = await sheetOf(cwd, 'c.png');
    expect([alpha(3, 3), alpha(17, 17)]).toEqual([0, 255]);
  });

  test.skipIf(!HAS_FONTS)('has labels below the images', async () => {
    const cwd = await pictures();
    const flags = [...LAYOUT, '--label', '{index} <{name}>', '--label-color', 'white', '-q'];
    const run = await oriel(words`montage ${flags} --out s.png ${FILES}`, { cwd });
    expect([run.code, run.stderr]).toEqual([0, '']);
    const pixels = await sheetOf(cwd, 's.png');
    expect(pixels.height).toBe(4 + 3 * (40 + 22 + 4));
    let lit = 0;
    for (let y = 44; y < 66; y += 1) {
      for (let x = 4; x < 44; x += 1) if (pixels.rgb(x, y)[0]! > 200) lit += 1;
    }
    expect(lit).toBeGreaterThan(10);
    const missing = await oriel(
      ['montage', ...flags, '--font', 'No Such Font', '--out', 't.png', ...FILES],
      { cwd },
    );
    expect([missing.code, missing.stderr.includes('No Such Font')]).toEqual([1, true]);
    expect(existsSync(join(cwd, 't.png'))).toBe(false);
  });
});

test('--dry-run shows sheets and places, and writes nothing', async () => {
  const cwd = await pictures();
  const before = readdirSync(cwd);
  const flags = words`montage ${LAYOUT} --rows 2 --out s.png --dry-run ${FILES}`;
  const { out } = await oriel([...flags, '--json'], { cwd });
  const { results, sheets } = JSON.parse(out) as MontageResult;
  expect(sheets).toEqual([
    { outputFilename: 's-1.png', format: 'png', width: 92, height: 92, images: 4 },
    { outputFilename: 's-2.png', format: 'png', width: 48, height: 48, images: 1 },
  ]);
  expect(results.at(-1)).toMatchObject({
    status: 'planned',
    data: { sheet: 's-2.png', row: 1, column: 1 },
  });
  expect((await oriel(flags, { cwd })).stderr).toContain('would write s-1.png, 92x92');
  expect(readdirSync(cwd)).toEqual(before);
});

test('--incremental decodes changed images only, and writes changed sheets only', async () => {
  const cwd = await pictures();
  const flags = words`montage ${LAYOUT} --rows 2 --out s.png --incremental --json`;
  const run = async () => {
    const { out, code } = await oriel(words`${flags} --recursive .`, { cwd });
    const { results, sheets } = JSON.parse(out) as MontageResult;
    expect([code, results.map(({ inputFilename }) => inputFilename)]).toEqual([
      0,
      ['p1.png', 'p2.png', 'p9.png', 'p10.png', 'p11.png'],
    ]);
    return {
      decoded: results.filter(({ cached }) => !cached).map(({ inputFilename }) => inputFilename),
      written: sheets.filter(({ unchanged }) => !unchanged).map((sheet) => sheet.outputFilename),
    };
  };
  const all = await run();
  expect([all.decoded.length, all.written]).toEqual([5, ['s-1.png', 's-2.png']]);
  expect(await run()).toEqual({ decoded: [], written: [] });
  writeFileSync(join(cwd, 'p11.png'), await plain('#00ffff'));
  expect(await run()).toEqual({ decoded: ['p11.png'], written: ['s-2.png'] });
  writeFileSync(join(cwd, 's-1.png'), 'another file');
  expect((await run()).written).toEqual(['s-1.png']);
});

test.each([
  [[], '--out'],
  [['--out', 's.bmp'], '--out'],
  [['--out', 'p1.png', '--overwrite'], '--out'],
  [['--out', 'there.png'], '--out'],
  [['--out', 's.png', '--format', 'webp'], '--format'],
  [['--out', 's.png', '--columns', '0'], '--columns'],
  [['--out', 's.png', '--columns', '1000'], '--cell'],
  [['--out', 's.png', '--cell', '99999x99999'], '--cell'],
  [['--out', 's.png', '--cell', '1e9x1'], '--cell'],
  [['--out', 's.png', '--label', '{date'], '--label'],
  [['--out', 's.png', '--label', 'a\n'], '--label'],
  [['--out', 's.png', '--font', '<b>'], '--font'],
])('%j is refused before any work, naming %s', async (flags, name) => {
  const cwd = await pictures();
  writeFileSync(join(cwd, 'there.png'), 'kept');
  const before = readdirSync(cwd);
  const { code, stderr } = await oriel(words`montage ${flags} ${FILES}`, { cwd });
  expect([code, stderr]).toEqual([2, expect.stringContaining(name)]);
  expect(readdirSync(cwd)).toEqual(before);
});
