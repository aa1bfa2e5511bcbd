import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import type { BatchResult } from '../../../src/operations/batch/batch-record.ts';
import { tag, urlOf } from '../../../src/operations/tools/html.ts';
import { photo } from '../../fixtures/images.ts';
import { temporaryFolder, words } from '../../oriel.ts';
import { residentCommand } from '../../resident.ts';
import { runs } from '../../runs.ts';

const oriel = residentCommand();

const SIZES = '(min-width: 40em) 50vw, 100vw';
const NAMES = { plain: 'photo.jpg', hard: `a "b" & <c>, d'é 100%#?.png` };

async function folder(): Promise<string> {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, NAMES.plain), await photo({ width: 300, height: 200 }).jpeg().toBuffer());
  writeFileSync(join(cwd, NAMES.hard), await photo({ width: 60, height: 90 }).png().toBuffer());
  return cwd;
}

const unescaped = (text: string) =>
  text
    .replace(
      /&(lt|gt|quot|#10|#13);/g,
      (_, name: string) => ({ lt: '<', gt: '>', quot: '"', '#10': '\n', '#13': '\r' })[name]!,
    )
    .replaceAll('&amp;', '&');

/** The elements of a snippet with their attributes, as a browser reads them. */
function elements(html: string): Record<string, string>[] {
  return [...html.matchAll(/<(source|img)((?: [a-z]+="[^"<>]*")*)>/g)].map(
    ([, name, attributes]) => ({
      name: name!,
      ...Object.fromEntries(
        [...attributes!.matchAll(/ ([a-z]+)="([^"]*)"/g)].map(([, key, value]) => [
          key,
          unescaped(value!),
        ]),
      ),
    }),
  );
}

/** The candidates of a `srcset`, as the HTML standard splits it: at white space and at commas that end URLs. */
function candidates(srcset: string): { url: string; width: number }[] {
  return srcset.split(', ').map((candidate) => {
    const [url, width, ...rest] = candidate.split(' ');
    expect(rest).toEqual([]);
    expect(url).not.toContain(',');
    return { url: url!, width: Number(/^(\d+)w$/.exec(width!)![1]) };
  });
}

describe('srcset', () => {
  test('prints a picture element whose URLs name files of the promised sizes', async () => {
    const cwd = await folder();
    const args = ['srcset', ...Object.values(NAMES), '--widths', '50,100,800', '--effort', '0'];
    const alt = 'Say "hi" & <wave>';
    const { code, out, stderr } = await oriel(
      words`${args} --out public/img --base-url /assets/img --alt ${alt} --sizes ${SIZES}`,
      { cwd },
    );
    expect({ code, totals: /^2 of 2 files done/m.test(stderr) }).toEqual({ code: 0, totals: true });
    const pictures = out.split('<picture>').slice(1);
    expect(pictures.length).toBe(2);
    const expected = [
      { widths: [50, 100, 300], width: '300', height: '200' },
      { widths: [50, 60], width: '60', height: '90' },
    ];
    const named = new Set<string>();
    for (const [index, picture] of pictures.entries()) {
      const { widths, width, height } = expected[index]!;
      const [avif, webp, img, ...rest] = elements(picture);
      expect(rest).toEqual([]);
      expect([avif!['type'], webp!['type']]).toEqual(['image/avif', 'image/webp']);
      expect(img).toMatchObject({ name: 'img', width, height, alt, loading: 'lazy' });
      for (const { srcset, sizes } of [avif, webp, img] as Record<string, string>[]) {
        expect(sizes).toBe(SIZES);
        const found = candidates(srcset!);
        expect(found.map((one) => one.width)).toEqual(widths);
        for (const one of found) {
          const file = decodeURIComponent(new URL(one.url, 'http://localhost').pathname).slice(
            '/assets/img/'.length,
          );
          const metadata = await sharp(readFileSync(join(cwd, 'public/img', file))).metadata();
          expect(metadata.width, file).toBe(one.width);
          named.add(file);
        }
      }
      expect(candidates(img!['srcset']!).at(-1)!.url).toBe(img!['src']);
    }
    expect(readdirSync(join(cwd, 'public/img')).sort()).toEqual([...named].sort());
  });

  test('of one format is an img alone, and --json has snippets as data', async () => {
    const cwd = await folder();
    const args = ['srcset', NAMES.plain, '--widths', '100', '--formats', 'jpg', '--out', 'out'];
    const { out } = await oriel(words`${args} --loading eager`, { cwd });
    expect(out).toBe(
      '<img sizes="100vw" srcset="photo-100w.jpg 100w" src="photo-100w.jpg" width="100" height="67" alt="" loading="eager" decoding="async">\n',
    );
    const report = await oriel(words`${args} --overwrite --json`, { cwd });
    const { operation, results } = JSON.parse(report.out) as BatchResult;
    expect(operation).toBe('srcset');
    expect(results[0]).toMatchObject({
      outputs: [{ outputFilename: 'out/photo-100w.jpg' }],
      data: { src: 'photo-100w.jpg', width: 100, sources: [{ type: 'image/jpeg' }] },
    });
    const list = await oriel(words`${args} --overwrite --snippet json`, { cwd });
    expect(JSON.parse(list.out)).toMatchObject([
      { inputFilename: NAMES.plain, src: 'photo-100w.jpg' },
    ]);
  });

  test('keeps the tree in URLs, writes --snippet-out, and prints snippets of unchanged files too', async () => {
    const cwd = await folder();
    mkdirSync(join(cwd, 'in/deep'), { recursive: true });
    writeFileSync(join(cwd, 'in/deep/a.jpg'), readFileSync(join(cwd, NAMES.plain)));
    const args = words`srcset --recursive in --formats webp --widths 40 --out web`;
    const first = await oriel([...args, '--incremental'], { cwd });
    expect(elements(first.out)[0]!['src']).toBe('deep/a-40w.webp');
    const again = await oriel([...args, '--incremental'], { cwd });
    expect(again.out).toBe(first.out);
    const written = await oriel(words`${args} --incremental --snippet-out s.html`, { cwd });
    expect([written.code, readFileSync(join(cwd, 's.html'), 'utf8')]).toEqual([0, first.out]);
    const refused = await oriel(words`${args} --overwrite --snippet-out deep.html --zip x.zip`, {
      cwd,
    });
    expect(refused.code).toBe(2);
    const existing = await oriel(words`${args} --incremental --snippet-out s.html`, { cwd });
    expect([existing.code, existing.stderr]).toMatchObject([
      1,
      expect.stringContaining('--overwrite'),
    ]);
    const planned = await oriel([...args, '--dry-run'], { cwd });
    expect([planned.code, planned.out.includes('<img')]).toEqual([0, false]);
  });

  test('in a ZIP names its entries, and without outputs prints no snippet', async () => {
    const cwd = await folder();
    writeFileSync(join(cwd, 'bad.jpg'), 'no image');
    const args = words`srcset bad.jpg ${NAMES.plain} --formats webp --widths 40 --zip a.zip`;
    const { code, out, stderr } = await oriel(args, { cwd });
    expect([code, elements(out).map(({ src }) => src)]).toEqual([1, ['photo-40w.webp']]);
    expect(stderr).toContain('bad.jpg');
    expect(existsSync(join(cwd, 'a.zip'))).toBe(true);
  });

  test.each([
    [['--widths', '0'], '--widths'],
    [['--widths', '10,'], '--widths'],
    [['--formats', 'webp,tiff'], '--formats'],
    [['--formats', ''], '--formats'],
    [['--base-url', '/a?b='], '--base-url'],
    [['--base-url', '" onload="'], '--base-url'],
    [['--loading', 'never'], '--loading'],
    [['--snippet', 'none', '--snippet-out', 'x'], '--snippet-out'],
    [['--zip', '-'], '--zip'],
    [['--out', 'one.jpg'], '--out'],
  ])('refuses %j', async (flags, name) => {
    const { code, stderr } = await oriel(words`srcset photo.jpg ${flags}`, {
      cwd: temporaryFolder(),
    });
    expect([code, stderr.includes(name)]).toEqual([2, true]);
  });
});

describe('markup', () => {
  test('of any value or path is read back as it was', () => {
    const text = fc.string({ unit: 'binary', maxLength: 40 });
    fc.assert(
      fc.property(text, text, (value, name) => {
        const html = tag('img', { alt: value });
        expect(html).toMatch(/^<img alt="[^"<>\n\r]*">$/);
        expect(unescaped(html.slice('<img alt="'.length, -2))).toBe(value);
        fc.pre(!/[\\/]/.test(name) && !['', '.', '..'].includes(name));
        const url = urlOf('/img', `deep/${name}`);
        expect(url).toMatch(/^[!-~]+$/);
        expect(url).not.toMatch(/[\s"<>,?#]/);
        expect(decodeURIComponent(url)).toBe(`/img/deep/${name}`);
      }),
      { numRuns: runs(1000) },
    );
  });
});
