import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import type { Checked } from '../../../src/cli/check/repairs.ts';
import {
  animatedPng,
  everyFormat,
  PRIVATE_EXIF,
  photo,
  pngPromising,
} from '../../fixtures/images.ts';
import { SECRETS, withEverything } from '../../fixtures/kinds.ts';
import { type Run, SHELL_ENVIRONMENT, SHELL_FUNCTION, words } from '../../oriel.ts';
import { residentCommand } from '../../resident.ts';
import { contentBelow, filesBelow, folderOf, temporariesBelow } from '../folder.ts';

const resident = residentCommand();
const check = (cwd: string, line: readonly string[], env: Record<string, string> = {}) =>
  resident(['check', ...line], { cwd, env });

const size = { width: 120, height: 80 };
const picture = photo(size);
const jpeg = await picture.clone().jpeg().toBuffer();
const png = await picture.clone().png().toBuffer();
const webp = await picture.clone().webp().toBuffer();
const gif = await picture.clone().gif().toBuffer();
const located = await picture.clone().withExif(PRIVATE_EXIF).jpeg().toBuffer();

const resultsOf = ({ out }: Run) => (JSON.parse(out) as { results: Checked[] }).results;
const rulesOf = (run: Run) =>
  Object.fromEntries(
    resultsOf(run)
      .filter(({ findings }) => findings.length > 0)
      .map(({ file, findings }) => [file, findings.map(({ rule }) => rule).join(' ')]),
  );

/** A repository whose branch `main` has files, with the branch `work` checked out. */
function repositoryOf(files: Readonly<Record<string, Uint8Array>>) {
  const cwd = folderOf(files);
  const git = (...args: string[]) => {
    const user = ['-c', 'user.name=n', '-c', 'user.email=a@example.com'];
    const run = spawnSync('git', [...user, ...args], { cwd, encoding: 'utf8' });
    expect([run.status, run.stderr]).toEqual([0, run.stderr]);
  };
  git('init', '--quiet', '--initial-branch', 'main');
  const commit = () => {
    git('add', '--all');
    git('commit', '--quiet', '--message', 'change');
  };
  commit();
  git('checkout', '--quiet', '-b', 'work');
  return { cwd, git, commit };
}

describe('rules', () => {
  const cut = (bytes: Buffer) => bytes.subarray(0, bytes.length / 2);
  it.each<[name: string, file: string, bytes: Uint8Array, flags: string, rules: string]>([
    ['bytes', 'a.jpg', jpeg, '--max-bytes 1KB', 'max-bytes'],
    ['bytes without a unit', 'a.jpg', jpeg, `--max-bytes ${jpeg.length}`, ''],
    ['sides', 'a.png', png, '--max-width 119 --max-height 79', 'max-width max-height'],
    ['sides that fit', 'a.png', png, '--max-width 120 --max-height 80 --max-pixels 0.0096', ''],
    ['pixels', 'a.webp', webp, '--max-pixels 0.009', 'max-pixels'],
    ['another format', 'a.png', png, '--formats webp,jpg', 'formats'],
    ['a wrong extension', 'a.png', jpeg, '', 'extension'],
    ['a position', 'a.jpg', located, '', 'forbid'],
    ['a position that may ship', 'a.jpg', located, '--forbid none', ''],
    ['a truncated JPEG', 'a.jpg', cut(jpeg), '', 'corrupt_image'],
    ['a truncated PNG', 'a.png', cut(png), '', 'corrupt_image'],
    ['a truncated WebP', 'a.webp', cut(webp), '', 'corrupt_image'],
    ['a JPEG without a picture', 'a.jpg', Buffer.from('ffd8ffd9', 'hex'), '', 'corrupt_image'],
    [
      'a JPEG of fill bytes',
      'a.jpg',
      Buffer.alloc(9999, 0xff).fill(0xd8, 1, 2),
      '',
      'corrupt_image',
    ],
    ['a bomb', 'a.png', pngPromising({ width: 60_000, height: 60_000 }), '', 'image_too_large'],
    ['no image', 'a.gif', Buffer.from('text'), '', 'unsupported_format'],
    ['an empty file', 'a.jpg', Buffer.alloc(0), '', 'empty_file'],
    [
      'a format that is not read',
      'a.svg',
      Buffer.from('<svg xmlns="x"/>'),
      '--max-bytes 3',
      'max-bytes',
    ],
    [
      'a format that is not wanted',
      'a.svg',
      Buffer.from('<svg xmlns="x"/>'),
      '--formats webp',
      'formats',
    ],
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
    for (const { file, format, width, height } of resultsOf(
      await check(cwd, words`${list} --json`),
    )) {
      expect(facts).toContainEqual(expect.objectContaining({ file, format, width, height }));
    }
  });

  it('finds and removes each kind of metadata', async () => {
    for (const kind of ['gps', 'exif', 'xmp', 'icc', 'all']) {
      const cwd = folderOf(await withEverything(size));
      expect(Object.keys(rulesOf(await check(cwd, words`--forbid ${kind} --json`)))).toHaveLength(
        3,
      );
      expect((await check(cwd, words`--forbid ${kind} --fix`)).status).toBe(0);
      const clean = contentBelow(cwd);
      expect((await check(cwd, words`--forbid ${kind} --fix`)).stderr).toBe(
        'no problems; 3 files checked\n',
      );
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
    expect((await check(cwd, words`--min-ssim 0.9`)).stderr).toContain('--base or --against');
    expect((await check(cwd, words`--rules none.yaml`)).status).toBe(2);
  });
});

describe('repairs', () => {
  const files = {
    'large.jpg': located,
    "it's.png": png,
    '-dash.webp': webp,
    'line\nbreak.jpg': located,
    '::error::x.jpg': located,
    '##[error]x.jpg': located,
    'wrong.png': located,
    'other.gif': gif,
  };
  const rules = words`--max-width 60 --formats jpeg,png,webp --max-bytes 2500`;

  it('are made by --fix and by the printed commands, once', async () => {
    const cwd = folderOf(files);
    const before = await check(cwd, [...rules, '--json']);
    expect(Object.keys(rulesOf(before))).toHaveLength(8);
    const fixed = await check(cwd, [...rules, '--fix']);
    expect([fixed.status, fixed.stderr]).toEqual([
      0,
      'no problems; 8 files checked; 8 files repaired\n',
    ]);
    const names = filesBelow(cwd);
    expect(names).toEqual(expect.arrayContaining(['wrong.jpg', 'other.jpg']));
    expect(names).toHaveLength(8);
    const content = contentBelow(cwd);
    expect((await check(cwd, [...rules, '--fix'])).status).toBe(0);
    expect(contentBelow(cwd)).toEqual(content);
    expect(temporariesBelow(cwd)).toEqual([]);
    const other = folderOf(files);
    const commands = resultsOf(before).map(({ command }) => command);
    const script = [SHELL_FUNCTION, 'set -e', ...commands].join('\n');
    const shell = spawnSync('bash', ['-c', script], {
      cwd: other,
      env: { ...process.env, ...SHELL_ENVIRONMENT },
    });
    expect([shell.status, contentBelow(other)]).toEqual([0, content]);
  });

  it('replace no other file, and say so', async () => {
    const cwd = folderOf({
      'a.png': jpeg,
      'a.jpg': png,
      'b.gif': files['other.gif'],
      'b.webp': webp,
    });
    const before = contentBelow(cwd);
    const run = await check(cwd, words`--fix --formats webp,jpeg,png`);
    expect([run.status, contentBelow(cwd)]).toEqual([1, before]);
    expect(run.out).toMatch(/not repaired: .*exist/);
  });

  it('of a recipe make its outputs', async () => {
    const cwd = folderOf({
      'in/sub/a.png': png,
      'r.yaml': 'outputs:\n  - widths: [20, 40]\n    format: webp\n',
    });
    const args = words`--recipe r.yaml --sources in --out out in`;
    const missing = await check(cwd, [...args, '--json']);
    expect(rulesOf(missing)).toEqual({ 'in/sub/a.png': 'output_missing output_missing' });
    expect(resultsOf(missing)[1]!.command).toBe(
      'oriel run r.yaml --recursive --overwrite --out out in',
    );
    expect((await check(cwd, [...args, '--fix'])).status).toBe(0);
    expect(filesBelow(join(cwd, 'out'))).toEqual(['sub/a-20w.webp', 'sub/a-40w.webp']);
    expect((await check(cwd, args)).status).toBe(0);
    writeFileSync(join(cwd, 'out/sub/a-20w.webp'), webp);
    expect(rulesOf(await check(cwd, [...args, '--json']))).toEqual({
      'in/sub/a.png': 'output_differs',
    });
  });
});

describe('--base and --against', () => {
  it('check only files that changed, by any names, and compare pictures', async () => {
    const { cwd, git, commit } = repositoryOf({
      'same.jpg': located,
      'gone.png': png,
      'moved.jpg': jpeg,
      'worse.jpg': jpeg,
      'sub/deep.webp': webp,
    });
    git('mv', 'moved.jpg', 'new "ü"\n name.jpg');
    rmSync(join(cwd, 'gone.png'));
    writeFileSync(join(cwd, 'worse.jpg'), await picture.clone().jpeg({ quality: 3 }).toBuffer());
    commit();
    writeFileSync(join(cwd, 'sub/untracked.jpg'), located);
    const args = words`--base main --min-ssim 0.95`;
    const run = await check(cwd, [...args, '--json']);
    expect(resultsOf(run).map(({ file }) => file)).toEqual([
      ...['new "ü"\n name.jpg', 'sub/untracked.jpg', 'worse.jpg'],
    ]);
    expect(rulesOf(run)).toEqual({ 'sub/untracked.jpg': 'forbid', 'worse.jpg': 'min-ssim' });
    const { before, command } = resultsOf(run)[2]!;
    expect(before).toBe(jpeg.length);
    const below = await check(join(cwd, 'sub'), [...args, '--json']);
    expect(rulesOf(below)).toEqual({ 'untracked.jpg': 'forbid' });
    const options = { cwd, env: { ...process.env, ...SHELL_ENVIRONMENT } };
    expect(spawnSync('bash', ['-c', `${SHELL_FUNCTION}\n${command}`], options).status).toBe(0);
    const byCommand = readFileSync(join(cwd, 'worse.jpg'));
    writeFileSync(join(cwd, 'worse.jpg'), await picture.clone().jpeg({ quality: 3 }).toBuffer());
    expect((await check(cwd, [...args, '--fix'])).status).toBe(0);
    expect(readFileSync(join(cwd, 'worse.jpg')).equals(byCommand)).toBe(true);
    expect((await check(cwd, args)).stderr).toBe('no problems; 3 files checked\n');
  });

  it('say what to fetch for a commit that is missing, and need a repository', async () => {
    const { cwd, git, commit } = repositoryOf({ 'a.jpg': jpeg });
    writeFileSync(join(cwd, 'a.jpg'), png);
    commit();
    const shallow = folderOf({});
    git('clone', '--quiet', '--depth', '1', `file://${cwd}`, join(shallow, 'clone'));
    const missing = await check(join(shallow, 'clone'), words`--base HEAD~1`);
    expect([missing.status, missing.stderr]).toEqual([
      2,
      'oriel: --base HEAD~1: no such commit in this clone, which is shallow; fetch it, in GitHub Actions with fetch-depth: 0 of actions/checkout\n',
    ]);
    expect((await check(cwd, ['--base', '--output=x'])).status).toBe(2);
    expect((await check(shallow, words`--base main`)).stderr).toContain('not a git repository');
  });

  it('compare with the files of a folder', async () => {
    const poor = await picture.clone().jpeg({ quality: 3 }).toBuffer();
    const cwd = folderOf({ 'old/x/a.jpg': jpeg, 'new/x/a.jpg': poor, 'new/b.jpg': poor });
    const args = words`new --against old --min-ssim 0.95`;
    expect(rulesOf(await check(cwd, [...args, '--json']))).toEqual({ 'new/x/a.jpg': 'min-ssim' });
    expect((await check(cwd, [...args, '--fix'])).status).toBe(0);
    writeFileSync(join(cwd, 'old/x/a.jpg'), 'text');
    expect(rulesOf(await check(cwd, [...args, '--json']))).toEqual({ 'new/x/a.jpg': 'min-ssim' });
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
    const schema = join(process.env['ORIEL_SHARED'] ?? '', 'spec/sarif-schema-2.1.0.json');
    if (!existsSync(schema)) return;
    const ajv = new Ajv({ strict: false, unicodeRegExp: false, validateFormats: false });
    const validate = ajv.compile(JSON.parse(readFileSync(schema, 'utf8')));
    expect([validate(log), validate.errors]).toEqual([true, null]);
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
