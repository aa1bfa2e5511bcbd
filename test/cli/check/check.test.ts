import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { animatedPng, everyFormat, PRIVATE_EXIF, pngPromising } from '../../fixtures/images.ts';
import { SECRETS, withEverything } from '../../fixtures/kinds.ts';
import { words } from '../../oriel.ts';
import { residentCommand } from '../../resident.ts';
import { contentBelow, filesBelow, folderOf } from '../folder.ts';
import { gif, jpeg, located, picture, png, resultsOf, rulesOf, size, webp } from './checked.ts';

const resident = residentCommand();
const check = (cwd: string, line: readonly string[], env: Record<string, string> = {}) =>
  resident(['check', ...line], { cwd, env });

const avif = await picture.clone().avif().toBuffer();
/** An AVIF with the brand of HEIC: the header of either can be read without a decoder. */
const heic = await picture.clone().withExif(PRIVATE_EXIF).avif().toBuffer();
heic.write('heic', 8);

describe('rules', () => {
  const svg = Buffer.from('<svg xmlns="x"/>');
  const cut = (bytes: Buffer) => bytes.subarray(0, bytes.length / 2);
  const jpegAfter = (head: Buffer) => Buffer.concat([jpeg.subarray(0, 2), head, jpeg.subarray(2)]);
  const segments = (count: number, length: number) => {
    const segment = Buffer.alloc(2 + length, 'ffe5', 'hex');
    segment.writeUInt16BE(length, 2);
    return Buffer.concat(Array.from({ length: count }, () => segment));
  };
  it.each<[name: string, file: string, bytes: Uint8Array, flags: string, rules: string]>([
    ['bytes', 'a.jpg', jpeg, '--max-bytes 1KB', 'max-bytes'],
    ['bytes without a unit', 'a.jpg', jpeg, `--max-bytes ${jpeg.length}`, ''],
    ['sides', 'a.png', png, '--max-width 119 --max-height 79', 'max-width max-height'],
    ['sides that fit', 'a.png', png, '--max-width 120 --max-height 80 --max-pixels 0.0096', ''],
    ['pixels', 'a.webp', webp, '--max-pixels 0.009', 'max-pixels'],
    ['another format', 'a.png', png, '--formats webp,jpg', 'formats'],
    ['a wrong extension', 'a.png', jpeg, '', 'extension'],
    ['an animated AVIF', 'a.avif', Buffer.from('\0\0\0\x18ftypavis'), '--formats avif', ''],
    ['a position', 'a.jpg', located, '', 'forbid'],
    ['a position and a side of HEIC', 'a.heic', heic, '--max-width 119', 'max-width forbid'],
    ['a position that may ship', 'a.jpg', located, '--forbid none', ''],
    ['a truncated JPEG', 'a.jpg', cut(jpeg), '', 'corrupt_image'],
    ['a truncated PNG', 'a.png', cut(png), '', 'corrupt_image'],
    ['a truncated WebP', 'a.webp', cut(webp), '', 'corrupt_image'],
    ['a truncated AVIF', 'a.avif', cut(avif), '', 'corrupt_image'],
    ['a truncated GIF', 'a.gif', cut(gif), '', 'corrupt_image'],
    ['a JPEG without a picture', 'a.jpg', Buffer.from('ffd8ffd9', 'hex'), '', 'corrupt_image'],
    ['a JPEG of fill bytes', 'a.jpg', jpegAfter(Buffer.alloc(9999, 0xff)), '', ''],
    ['a JPEG with a long head', 'a.jpg', jpegAfter(segments(20, 60_000)), '', ''],
    ['a JPEG of segments', 'a.jpg', jpegAfter(segments(100_001, 2)), '', 'corrupt_image'],
    ['a bomb', 'a.png', pngPromising({ width: 60_000, height: 60_000 }), '', 'image_too_large'],
    ['an empty picture', 'a.png', pngPromising({ width: 0, height: 9 }), '', 'corrupt_image'],
    ['no image', 'a.gif', Buffer.from('text'), '', 'unsupported_format'],
    ['an empty file', 'a.jpg', Buffer.alloc(0), '', 'empty_file'],
    ['a format that is not read', 'a.svg', svg, '--max-bytes 3', 'max-bytes'],
    ['a format that is not wanted', 'a.svg', svg, '--formats webp', 'formats'],
    ['data after a JPEG', 'a.jpg', Buffer.concat([jpeg, Buffer.alloc(150_000)]), '', ''],
  ])('%s', async (_, file, bytes, flags, rules) => {
    const run = await check(
      folderOf({ [file]: bytes }),
      words`--json ${flags === '' ? [] : flags.split(' ')}`,
    );
    expect([rulesOf(run), run.status]).toEqual(rules === '' ? [{}, 0] : [{ [file]: rules }, 1]);
  });

  it('has the size that the decoder has, for every format and orientation', async () => {
    const upright = await everyFormat(picture.clone());
    const turned = {
      'turned.jpg': await picture.clone().withMetadata({ orientation: 6 }).jpeg().toBuffer(),
    };
    const lossless = { 'lossless.webp': await picture.clone().webp({ lossless: true }).toBuffer() };
    const files = { ...upright, ...turned, ...lossless, 'animated.png': await animatedPng(size) };
    const cwd = folderOf(files);
    const list = filesBelow(cwd);
    const decoded = JSON.parse((await resident(words`metadata ${list} --json`, { cwd })).out);
    const facts = decoded.results.map((one: { inputFilename: string; data: object }) => ({
      file: one.inputFilename,
      ...one.data,
    }));
    const checked = resultsOf(await check(cwd, words`${list} --json`));
    for (const { file, format, width, height } of checked) {
      expect(facts).toContainEqual(expect.objectContaining({ file, format, width, height }));
    }
  });

  it('finds and removes each kind of metadata', async () => {
    for (const kind of ['gps', 'exif', 'xmp', 'icc', 'all']) {
      const cwd = folderOf(await withEverything(size));
      const found = rulesOf(await check(cwd, words`--forbid ${kind} --json`));
      expect(Object.keys(found)).toHaveLength(3);
      expect((await check(cwd, words`--forbid ${kind} --fix`)).status).toBe(0);
      const clean = contentBelow(cwd);
      const again = await check(cwd, words`--forbid ${kind} --fix`);
      expect(again.stderr).toBe('no problems; 3 files checked\n');
      expect(contentBelow(cwd)).toEqual(clean);
      const text = [...clean.values()].map((content) =>
        Buffer.from(content, 'base64').toString('latin1'),
      );
      if (kind === 'all') for (const secret of SECRETS) expect(text.join()).not.toContain(secret);
    }
  });

  it('come from a file too, whose errors have lines; flags win', async () => {
    const cwd = folderOf({
      'img/a.png': png,
      'b.png': png,
      'oriel-check.yaml': 'maxWidth: 100\nformats: [png, webp]\npaths: [img]\n',
      'bad.yaml': 'maxWidth: wide\n\nmaxByte: 5\nformats: [bmp, doc]\n',
    });
    expect(rulesOf(await check(cwd, ['--json']))).toEqual({ 'img/a.png': 'max-width' });
    expect(rulesOf(await check(cwd, words`--max-width 200 --json`))).toEqual({});
    const bad = await check(cwd, words`--rules bad.yaml`);
    expect([bad.status, bad.stderr.split('\n').map((line) => line.slice(0, 30))]).toEqual([
      2,
      [
        'bad.yaml:1: maxWidth: expected',
        'bad.yaml:3: maxByte: unknown; ',
        'bad.yaml:4: formats: expected ',
        '',
      ],
    ]);
    expect((await check(cwd, words`--min-ssim 0.9`)).stderr).toContain('--base is required');
    expect((await check(cwd, words`--rules none.yaml`)).status).toBe(2);
  });
});

describe('reports', () => {
  const names = [
    'a|b`c\\.png',
    '<b>&"\'.png',
    'n\n::error::l.png',
    '::warning::x.png',
    '##[group]x.png',
    'c\u0007\ufffe.png',
  ];
  const files = () =>
    folderOf({ ...Object.fromEntries(names.map((name) => [name, png])), 'good.jpg': jpeg });
  const HAS_XMLLINT = spawnSync('xmllint', ['--version']).status === 0;

  it('have no commands of GitHub Actions that names of files ask for', async () => {
    const run = await check(files(), words`--max-width 60 --annotate github`, {
      GITHUB_WORKSPACE: '',
    });
    const lines = `${run.out}${run.stderr}`.split('\n');
    const commands = lines.filter((line) => /^\s*::|##\[/.test(line));
    expect(commands).toHaveLength(names.length + 1);
    for (const line of commands)
      expect(line).toMatch(/^::error file=[^,:]+,title=oriel%3A max-width::120 pixels/);
    const document = await check(files(), words`--max-width 60 --json`);
    expect(document.out).not.toContain('##[');
    expect(
      resultsOf(document)
        .map(({ file }) => file)
        .sort(),
    ).toEqual([...names, 'good.jpg'].sort());
  });

  it.skipIf(!HAS_XMLLINT)('are XML for JUnit', async () => {
    const cwd = files();
    expect((await check(cwd, words`--max-width 60 --quiet --junit r.xml`)).status).toBe(1);
    const xpath = (path: string) =>
      spawnSync('xmllint', ['--xpath', path, 'r.xml'], { cwd, encoding: 'utf8' }).stdout.trim();
    expect(xpath('string(/testsuites/testsuite/@tests)')).toBe('7');
    expect(xpath('count(//testcase[failure[@type="max-width"]])')).toBe('7');
    expect(xpath('string(//testcase[contains(@name, "<b>")]/@name)')).toBe('<b>&"\'.png');
    expect(xpath('string(//testcase[contains(@name, "c\\u0007")]/@name)')).toContain('.png');
  });

  it('are SARIF 2.1.0 with paths from the repository', async () => {
    const cwd = files();
    mkdirSync(join(cwd, 'site'));
    for (const name of names) renameSync(join(cwd, name), join(cwd, 'site', name));
    await check(join(cwd, 'site'), words`--max-width 60 --quiet --sarif r.sarif`, {
      GITHUB_WORKSPACE: cwd,
    });
    const log = JSON.parse(readFileSync(join(cwd, 'site/r.sarif'), 'utf8'));
    const [{ tool, results }] = log.runs;
    expect([log.version, tool.driver.rules.map(({ id }: { id: string }) => id)]).toEqual([
      '2.1.0',
      ['max-width'],
    ]);
    const uris = results.map(
      (one: { locations: [{ physicalLocation: { artifactLocation: { uri: string } } }] }) =>
        one.locations[0].physicalLocation.artifactLocation.uri,
    );
    for (const uri of uris) expect(uri).toMatch(/^site\/[\w.%()'~!*-]+$/);
    expect(uris.map(decodeURIComponent).sort()).toEqual(names.map((name) => `site/${name}`).sort());
  });

  it('are a Markdown table with savings, to standard output too', async () => {
    const cwd = files();
    const { out } = await check(cwd, words`--max-width 60 --markdown -`);
    const [title, , summary, , head, ruler, ...rows] = out.trimEnd().split('\n');
    expect([title, head, ruler]).toEqual([
      '### Images',
      '| File | Size | Saving | Problems | Fix |',
      '| --- | --- | --- | --- | --- |',
    ]);
    expect(summary).toMatch(/^7 problems in 7 images\. Optimising would save [\d.]+ KB\.$/);
    for (const row of rows)
      expect(row).toMatch(
        /^\| `[^`|]+` \| [^`|]+ \| [^`|]*\| max-width: `[^`|]+` \| `oriel [^`|]+` \|$/,
      );
    expect(rows).toHaveLength(7);
    const { out: plain } = await check(cwd, words`--max-width 60 --markdown - --no-savings`);
    expect(plain).not.toContain('Optimising');
  });

  it('survive links in a circle, links to nothing and unreadable folders', async () => {
    const cwd = folderOf({ 'sub/a.jpg': jpeg });
    symlinkSync('..', join(cwd, 'sub/loop'));
    symlinkSync('self.jpg', join(cwd, 'self.jpg'));
    symlinkSync('absent', join(cwd, 'absent.png'));
    const run = await check(cwd, ['--json']);
    expect(rulesOf(run)).toEqual({ 'absent.png': 'not_found', 'self.jpg': 'read_failed' });
    expect(resultsOf(run)).toHaveLength(3);
  });
});
