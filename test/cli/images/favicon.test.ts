import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { expect, test } from 'vitest';
import { photo } from '../../fixtures/images.ts';
import { temporaryFolder, words } from '../../oriel.ts';
import { decode } from '../../pixels.ts';
import { residentCommand } from '../../resident.ts';

const oriel = residentCommand();

const FILES = words`apple-touch-icon.png favicon.ico icon-192.png icon-512.png icon-maskable-512.png`;

test('favicon writes an ICO of three sizes, opaque and transparent icons, and prints their links', async () => {
  const cwd = temporaryFolder();
  const source = {
    create: { width: 640, height: 600, channels: 4, background: '#ff000080' },
  } as const;
  writeFileSync(join(cwd, 'logo.png'), await sharp(source).png().toBuffer());
  const run = await oriel(words`favicon logo.png --out public --background #00f`, { cwd });
  expect(run.code, run.stderr).toBe(0);
  expect(readdirSync(join(cwd, 'public')).sort()).toEqual(FILES);
  expect(run.stderr).toContain('640x600 is not square');
  expect(run.out).toBe(
    [
      '<link rel="icon" href="/favicon.ico" sizes="16x16 32x32 48x48">',
      '<link rel="icon" href="/icon-192.png" type="image/png" sizes="192x192">',
      '<link rel="apple-touch-icon" href="/apple-touch-icon.png">\n',
    ].join('\n'),
  );
  const icon = async (name: string) => decode(readFileSync(join(cwd, 'public', name)));
  const large = await icon('icon-512.png');
  expect([large.width, large.height, large.alpha(256, 2), large.alpha(256, 256)]).toEqual([
    512, 512, 0, 128,
  ]);
  const apple = await icon('apple-touch-icon.png');
  expect([apple.width, apple.metadata.hasAlpha, apple.rgb(90, 1)]).toEqual([
    180,
    false,
    [0, 0, 255],
  ]);
  expect(apple.rgb(90, 90)).toEqual([128, 0, 127]);
  const maskable = await icon('icon-maskable-512.png');
  expect([maskable.metadata.hasAlpha, maskable.rgb(1, 1)]).toEqual([false, [0, 0, 255]]);
  const ico = readFileSync(join(cwd, 'public/favicon.ico'));
  expect([...ico.subarray(0, 8)]).toEqual([0, 0, 1, 0, 3, 0, 16, 16]);
  const back = await oriel(words`convert --format png public/favicon.ico --out ico.png`, { cwd });
  expect(back.code, back.stderr).toBe(0);
  const read = await decode(readFileSync(join(cwd, 'ico.png')));
  expect([read.width, read.alpha(24, 0), read.alpha(24, 24)]).toEqual([48, 0, 128]);
  expect(read.rgb(24, 24)).toEqual([255, 0, 0]);
  const identify = spawnSync('identify', ['-format', '%wx%h ', join(cwd, 'public/favicon.ico')], {
    encoding: 'utf8',
  });
  if (identify.error === undefined) expect(identify.stdout).toBe('16x16 32x32 48x48 ');
});

test('favicon keeps all visible pixels of a maskable icon within the circle that systems show', async () => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'square.png'), await photo({ width: 512, height: 512 }).png().toBuffer());
  const circle = '<circle cx="256" cy="256" r="256"/>';
  const round = Buffer.from(
    `<svg xmlns="http://www.w3.org/2000/svg" width="512" height="512">${circle}</svg>`,
  );
  writeFileSync(join(cwd, 'round.png'), await sharp(round).png().toBuffer());
  for (const [name, most] of [
    ['square', 205],
    ['round', 206],
  ] as const) {
    const run = await oriel(words`favicon ${name}.png --out ${name}`, { cwd });
    expect([run.code, run.stderr]).toEqual([0, '']);
    const pixels = await decode(readFileSync(join(cwd, name, 'icon-maskable-512.png')));
    let farthest = 0;
    for (let y = 0; y < 512; y += 2) {
      for (let x = 0; x < 512; x += 2) {
        const [red, green, blue] = pixels.rgb(x, y);
        if (red! + green! + blue! > 740) continue;
        farthest = Math.max(farthest, Math.hypot(x - 255.5, y - 255.5));
      }
    }
    expect([name, farthest <= most, farthest > 180]).toEqual([name, true, true]);
  }
});

test('favicon merges its icons into a manifest, and replaces files only with --overwrite', async () => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'a.png'), await photo({ width: 40, height: 40 }).png().toBuffer());
  const manifest = join(cwd, 'site.webmanifest');
  writeFileSync(manifest, JSON.stringify({ name: 'Lights', icons: [] }));
  const args = words`favicon a.png --manifest --base-url https://cdn.example/x%20y/`;
  const refused = await oriel(args, { cwd });
  expect([refused.code, refused.stderr.includes('--overwrite')]).toEqual([1, true]);
  expect(existsSync(join(cwd, 'favicon.ico'))).toBe(false);
  const run = await oriel(words`${args} --overwrite --json`, { cwd });
  expect(run.code, run.stderr).toBe(0);
  expect(run.stderr).toContain('40x40 is less than 512x512');
  const { name, icons } = JSON.parse(readFileSync(manifest, 'utf8'));
  expect(name).toBe('Lights');
  expect(icons).toEqual([
    { src: 'https://cdn.example/x%20y/icon-192.png', sizes: '192x192', type: 'image/png' },
    { src: 'https://cdn.example/x%20y/icon-512.png', sizes: '512x512', type: 'image/png' },
    {
      src: 'https://cdn.example/x%20y/icon-maskable-512.png',
      sizes: '512x512',
      type: 'image/png',
      purpose: 'maskable',
    },
  ]);
  const report = JSON.parse(run.out);
  expect(report).toMatchObject({ icons, warnings: [{ code: 'icon_enlarged' }] });
  expect(report.html).toContain(
    '<link rel="manifest" href="https://cdn.example/x%20y/site.webmanifest">',
  );
  writeFileSync(manifest, '[1]');
  const broken = await oriel([...args, '--overwrite'], { cwd });
  expect([broken.code, broken.stderr.includes('expected a web app manifest')]).toEqual([2, true]);
});

test('favicon of a file that is no image, missing, or SVG without --allow-svg fails with its code', async () => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'text.png'), 'no image');
  writeFileSync(
    join(cwd, 'logo.svg'),
    '<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24"><rect width="12" height="24" fill="#f00"/></svg>',
  );
  for (const [name, message] of [
    ['text.png', 'unsupported_format'],
    ['missing.png', 'not_found'],
    ['logo.svg', '--allow-svg'],
  ] as const) {
    const { code, stderr } = await oriel(words`favicon ${name} --out out`, { cwd });
    expect([name, code, stderr.includes(message)]).toEqual([name, 1, true]);
  }
  expect(existsSync(join(cwd, 'out'))).toBe(false);
  const drawn = await oriel(words`favicon logo.svg --out out --allow-svg -q`, { cwd });
  expect([drawn.code, drawn.out, drawn.stderr]).toEqual([0, '', '']);
  const large = await decode(readFileSync(join(cwd, 'out/icon-512.png')));
  // Drawn at its size, so that edges are sharp.
  expect([large.alpha(252, 100) > 250, large.alpha(259, 100) < 5]).toEqual([true, true]);
});
