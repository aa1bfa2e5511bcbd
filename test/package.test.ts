import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { expect, test } from 'vitest';
import { ROOT, temporaryFolder } from './oriel.ts';

test('the packed package has the files it needs and no others, and converts images', async () => {
  const folder = temporaryFolder();
  // Without scripts, because packing would rebuild dist/ while other tests run.
  const pack = ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder];
  const name = execFileSync('npm', pack, { cwd: ROOT, encoding: 'utf8' }).trim();
  execFileSync('tar', ['-xzf', name], { cwd: folder });
  const root = join(folder, 'package');
  const allowed = ['CHANGELOG.md', 'LICENSE', 'README.md', 'config', 'dist', 'package.json', 'src'];
  expect(allowed).toEqual(expect.arrayContaining(readdirSync(root)));
  expect(readdirSync(join(root, 'dist')).sort()).toEqual([
    'bin',
    'chunks',
    'console',
    'licenses.txt',
    'src',
    'workers',
  ]);

  // Dependencies, as npm would install them.
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  const noise = { type: 'gaussian', mean: 128, sigma: 40 } as const;
  const photograph = { width: 64, height: 48, channels: 3, background: 'black', noise } as const;
  for (const file of ['1.png', '2.png', '3.png']) {
    await sharp({ create: photograph }).toFile(join(folder, file));
  }
  const binary = join(root, 'dist', 'bin', 'oriel.cjs');
  const args = ['convert', '--format', 'webp', '--jobs', '2', '1.png', '2.png', '3.png'];
  execFileSync(process.execPath, [binary, ...args], { cwd: folder, stdio: 'pipe' });
  expect((await sharp(readFileSync(join(folder, '3.webp'))).metadata()).width).toBe(64);

  // The catalog of the sandbox is a file of the package.
  const checked = execFileSync(process.execPath, [binary, 'config', 'check'], { cwd: folder });
  expect(String(checked)).toContain('good: 1 provider, 10 models');

  // So are the configurations of clients.
  const shown = execFileSync(process.execPath, [binary, 'connect', 'codex', '--model', 'm']);
  expect(String(shown)).toContain('model = "m"');
});
