// Shows both faces of Oriel: converts a folder of photographs that it generates, then starts a daemon on a free port
// and asks the sandbox for a streamed answer and a picture. Exits 1 unless every step did what it should.
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';

const root = fileURLToPath(new URL('../..', import.meta.url));
const binary = join(root, 'dist', 'bin', 'oriel.cjs');
const folder = mkdtempSync(join(tmpdir(), 'oriel-demo-'));
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

/** The environment without settings of the user's own daemon. */
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith('ORIEL_')),
);

/** Runs a command in the folder of the demo and shows it. */
function oriel(args, env = {}) {
  console.log(`\n$ oriel ${args.map((arg) => (/ /.test(arg) ? `"${arg}"` : arg)).join(' ')}`);
  const options = { cwd: folder, stdio: 'inherit', env: { ...environment, ...env } };
  return spawnSync(process.execPath, [binary, ...args], options).status;
}

/** The address of a daemon, once it accepts requests. Its log goes to standard error if it ends instead. */
async function ready(daemon) {
  const log = [];
  for await (const line of createInterface({ input: daemon.stdout })) {
    log.push(line);
    const { msg, url } = line.startsWith('{') ? JSON.parse(line) : {};
    if (msg === 'ready') return url;
  }
  throw new Error(`oriel serve ended:\n${log.join('\n')}`);
}

console.log(`In ${folder}:`);
const convert = oriel(['convert', '--format', 'webp', '--recursive', 'photos', '--out', 'web']);
console.log('One file is broken on purpose, so the exit code is 1. All others are converted.');

const serve = ['serve', '--port', '0', '--data', 'data', '--log-format', 'json'];
const key = `sk-demo-${randomBytes(24).toString('hex')}`;
const daemon = spawn(process.execPath, [binary, ...serve], {
  cwd: folder,
  env: { ...environment, ORIEL_BOOTSTRAP_KEY: key },
  stdio: ['ignore', 'pipe', 'inherit'],
});
let statuses = [];
try {
  console.log('\n$ oriel serve');
  const url = await ready(daemon);
  daemon.stdout.resume();
  console.log(
    `Listening on ${url}, with models of the built-in sandbox: no provider, no account, no cost.`,
  );
  const client = { ORIEL_URL: url, ORIEL_API_KEY: key };
  statuses = [
    oriel(['chat', 'Why is the sky blue?'], client),
    oriel(
      ['generate', 'a lighthouse at dusk', '--size', '16:9', '--out', 'lighthouse.png'],
      client,
    ),
  ];
  console.log(
    `\nIn a browser, ${url}/console shows models, tasks, usage and keys while the daemon runs.`,
  );
  console.log('It stops now. Start your own with: npm start');
} finally {
  daemon.kill();
  if (daemon.exitCode === null) await once(daemon, 'exit');
}
process.exit(convert === 1 && statuses.every((status) => status === 0) ? 0 : 1);
