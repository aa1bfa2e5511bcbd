import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commit, git } from '../../ci/pull-request.ts';
import { bmp } from '../../fixtures/bitmaps.ts';
import { absent, encoded } from '../../fixtures/program-images.ts';
import { SHELL_ENVIRONMENT, SHELL_FUNCTION, temporaryFolder, words } from '../../oriel.ts';
import { residentCommand } from '../../resident.ts';
import { contentBelow, filesBelow, folderOf, temporariesBelow } from '../folder.ts';
import { gif, jpeg, located, picture, png, resultsOf, rulesOf, webp } from './checked.ts';

const resident = residentCommand();
const check = (cwd: string, line: readonly string[], env: Record<string, string> = {}) =>
  resident(['check', ...line], { cwd, env });

/** A repository whose branch `main` has files, with the branch `work` checked out. */
function repositoryOf(files: Readonly<Record<string, Uint8Array>>) {
  const cwd = temporaryFolder();
  git(cwd, 'init', '--quiet', '--initial-branch', 'main');
  commit(cwd, files);
  git(cwd, 'checkout', '--quiet', '-b', 'work');
  return cwd;
}

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
    'old.bmp': bmp({ width: 40, height: 30, bits: 24, data: Buffer.alloc(3600, 7) }),
  };
  const rules = words`--max-width 60 --formats jpeg,png,webp --max-bytes 2500`;

  it('are made by --fix and by the printed commands, once', async () => {
    const cwd = folderOf(files);
    const before = await check(cwd, [...rules, '--json']);
    expect(Object.keys(rulesOf(before))).toHaveLength(9);
    const fixed = await check(cwd, [...rules, '--fix']);
    expect(fixed.stderr).toBe('no problems; 9 files checked; 9 files repaired\n');
    expect(fixed.status).toBe(0);
    const names = filesBelow(cwd);
    expect(names).toEqual(expect.arrayContaining(['wrong.jpg', 'other.jpg', 'old.jpg']));
    expect(names).toHaveLength(9);
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
    // Its headers are intact, and its pixels are not.
    const broken = Buffer.from(png).fill(0, 100, 140);
    writeFileSync(join(cwd, 'broken.png'), broken);
    const decoded = await check(cwd, words`--recipe r.yaml broken.png --json`);
    expect(rulesOf(decoded)).toEqual({ 'broken.png': 'corrupt_image' });
    const missing = await check(cwd, [...args, '--json']);
    expect(rulesOf(missing)).toEqual({ 'in/sub/a.png': 'output_missing output_missing' });
    expect(resultsOf(missing)[1]!.command).toBe(
      'oriel check --fix --recipe r.yaml --sources in --out out in',
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

describe('--base', () => {
  it('check only files that changed, by any names, and compare pictures', async () => {
    const cwd = repositoryOf({
      'same.jpg': located,
      'gone.png': png,
      'moved.jpg': jpeg,
      'worse.jpg': jpeg,
      'sub/deep.webp': webp,
    });
    const poor = await picture.clone().jpeg({ quality: 3 }).toBuffer();
    git(cwd, 'mv', 'moved.jpg', 'new "ü"\n name.jpg');
    commit(cwd, { 'gone.png': null, 'worse.jpg': poor });
    writeFileSync(join(cwd, 'sub/untracked.jpg'), located);
    const args = words`--base main --min-ssim 0.95`;
    const run = await check(cwd, [...args, '--json']);
    expect(resultsOf(run).map(({ file }) => file)).toEqual([
      ...['new "ü"\n name.jpg', 'sub/untracked.jpg', 'worse.jpg'],
    ]);
    expect(rulesOf(run)).toEqual({ 'sub/untracked.jpg': 'forbid', 'worse.jpg': 'min-ssim' });
    const { before, command } = resultsOf(run)[2]!;
    expect(before).toBe(jpeg.length);
    const all = resultsOf(await check(cwd, words`--base main --json`));
    expect(all.map((one) => one.command)).toContain('oriel check --fix sub/untracked.jpg');
    const below = await check(join(cwd, 'sub'), [...args, '--json']);
    expect(rulesOf(below)).toEqual({ 'untracked.jpg': 'forbid' });
    const options = { cwd, env: { ...process.env, ...SHELL_ENVIRONMENT } };
    expect(spawnSync('bash', ['-c', `${SHELL_FUNCTION}\n${command}`], options).status).toBe(0);
    const byCommand = readFileSync(join(cwd, 'worse.jpg'));
    writeFileSync(join(cwd, 'worse.jpg'), poor);
    expect((await check(cwd, [...args, '--fix'])).status).toBe(0);
    expect(readFileSync(join(cwd, 'worse.jpg')).equals(byCommand)).toBe(true);
    expect((await check(cwd, args)).stderr).toBe('no problems; 3 files checked\n');
  });

  it('say what to fetch for a commit that is missing, and need a repository', async () => {
    const cwd = repositoryOf({ 'a.jpg': jpeg });
    commit(cwd, { 'a.jpg': png });
    const shallow = folderOf({});
    git(shallow, 'clone', '--quiet', '--depth', '1', `file://${cwd}`, 'clone');
    const missing = await check(join(shallow, 'clone'), words`--base HEAD~1`);
    expect([missing.status, missing.stderr]).toEqual([
      2,
      'oriel: --base HEAD~1: no such commit in this clone, which is shallow; fetch it, in GitHub Actions with fetch-depth: 0 of actions/checkout\n',
    ]);
    expect((await check(cwd, ['--base', '--output=x'])).status).toBe(2);
    expect((await check(shallow, words`--base main`)).stderr).toContain('not a git repository');
  });

  it('find a picture whose former version is none', async () => {
    const cwd = repositoryOf({ 'a.jpg': Buffer.from('text') });
    commit(cwd, { 'a.jpg': jpeg });
    const run = await check(cwd, words`--base main --min-ssim 0.9 --json`);
    expect(rulesOf(run)).toEqual({ 'a.jpg': 'min-ssim' });
  });

  it.skipIf(absent('heif-enc', 'heif-convert'))('compare HEIC', async () => {
    const heic = encoded(temporaryFolder(), png, 'heif-enc');
    const cwd = repositoryOf({ 'a.heic': heic });
    commit(cwd, { 'a.heic': Buffer.concat([heic, Buffer.alloc(9)]) });
    const run = await check(cwd, words`--base main --min-ssim 0.9 --max-width 119 --json`);
    expect(rulesOf(run)).toEqual({ 'a.heic': 'max-width' });
  });
});
