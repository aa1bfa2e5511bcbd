// Generates a folder of photographs and converts it.
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';

const root = fileURLToPath(new URL('../..', import.meta.url));
const oriel = join(root, 'dist', 'bin', 'oriel.cjs');
const folder = join(tmpdir(), 'oriel-demo');
const photos = join(folder, 'photos');

/** A landscape of a sky, hills and film grain; the same number gives the same picture. */
async function landscape(number, width, height) {
  const pixels = Buffer.alloc(width * height * 3);
  let state = number * 2654435761;
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      const grain = (state >>> 28) - 8;
      const ridge =
        height * (0.55 + 0.12 * Math.sin(x / (90 + number * 7)) + 0.05 * Math.sin(x / 17));
      const sky = y < ridge;
      const depth = sky ? y / ridge : (y - ridge) / (height - ridge);
      const offset = (y * width + x) * 3;
      pixels[offset] = (sky ? 90 + 130 * depth : 60 - 30 * depth) + grain;
      pixels[offset + 1] = (sky ? 140 + 60 * depth : 110 - 60 * depth) + grain;
      pixels[offset + 2] = (sky ? 220 - 70 * depth : 50 - 20 * depth) + grain;
    }
  }
  return sharp(pixels, { raw: { width, height, channels: 3 } });
}

rmSync(folder, { recursive: true, force: true });
mkdirSync(join(photos, 'trip'), { recursive: true });
for (let number = 1; number <= 8; number += 1) {
  const photo = await landscape(number, 1600, 1200);
  await photo
    .jpeg({ quality: 92 })
    .toFile(join(photos, number > 4 ? 'trip' : '', `photo-${number}.jpg`));
}
const turned = await landscape(9, 1200, 1600);
await turned
  .withMetadata({ orientation: 6 })
  .jpeg({ quality: 92 })
  .toFile(join(photos, 'turned.jpg'));
await (await landscape(10, 800, 600))
  .ensureAlpha(0.5)
  .png()
  .toFile(join(photos, 'see-through.png'));
writeFileSync(join(photos, 'broken.jpg'), Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 16]));

const args = ['convert', '--format', 'webp', '--recursive', photos, '--out', join(folder, 'webp')];
console.log(`$ oriel ${args.join(' ')}`);
const { status } = spawnSync(process.execPath, [oriel, ...args], { stdio: 'inherit' });
console.log(`exit code ${status}: one file is broken on purpose, the others are converted`);
process.exit(status === 1 ? 0 : 1);
