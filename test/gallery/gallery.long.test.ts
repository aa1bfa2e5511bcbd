import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp, { type Sharp } from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OWNER_KEY, sharedDaemon } from '../daemon.ts';
import { absent } from '../fixtures/program-images.ts';
import { ROOT, shell } from '../oriel.ts';
import { residentCommand } from '../resident.ts';
import { writeScenes } from './scenes.ts';
import { TASKS } from './tasks.ts';

const GALLERY = join(ROOT, 'test/gallery');
const PICTURES = join(GALLERY, 'pictures');
const MAX_BYTES = 300 * 1024;

/** ORIEL_GALLERY=write makes the pictures anew; without it the test compares them. */
const WRITES = process.env['ORIEL_GALLERY'] === 'write';
/** Mean difference of a sample, of 255: another encoder may differ by that. */
const TOLERANCE = 6;

interface Section {
  readonly title: string;
  readonly command: string;
  readonly pictures: readonly string[];
}

function sections(): Section[] {
  const [, ...parts] = readFileSync(join(GALLERY, 'README.md'), 'utf8').split(/^## /m);
  return parts.map((part) => {
    const [title = ''] = part.split('\n', 1);
    const commands = [...part.matchAll(/^```sh\n([^\n]+)\n```$/gm)].map(([, line]) => line!);
    expect(commands, `${title}: one command of one line`).toHaveLength(1);
    const pictures = [...part.matchAll(/src="pictures\/([^"]+)"/g)].map(([, file]) => file!);
    return { title, command: commands[0]!, pictures };
  });
}

const oriel = residentCommand();

/** Runs a line of shell: a command of Oriel in the process of all, with the words that the shell makes of the line. */
async function run(line: string, cwd: string, env: Readonly<Record<string, string>>) {
  const [, args, file] = /^oriel (.*?)(?: > (\S+))?$/.exec(line) ?? [];
  if (args === undefined) return shell(line, { cwd, env });
  const expanded = execFileSync('sh', ['-c', `printf '%s\\n' ${args}`], { cwd, encoding: 'utf8' });
  const ended = await oriel(expanded.trimEnd().split('\n'), { cwd, env });
  if (file !== undefined) writeFileSync(join(cwd, file), ended.stdout);
  return ended;
}

/** Compares a picture with the one in the repository, or writes it. */
async function expectCurrent(file: string, image: Sharp): Promise<void> {
  const thumbnail = image
    .resize(280, 220, { fit: 'inside', withoutEnlargement: true })
    .flatten({ background: 'white' })
    .webp({ quality: 72, effort: 6 });
  const { data: bytes, info } = await thumbnail.toBuffer({ resolveWithObject: true });
  const path = join(PICTURES, file);
  if (WRITES) writeFileSync(path, bytes);
  expect(existsSync(path), `${file} is missing; ORIEL_GALLERY=write makes it`).toBe(true);
  const { width, height } = info;
  expect(await sharp(path).metadata(), file).toMatchObject({ width, height });
  const difference = sharp(bytes).composite([{ input: path, blend: 'difference' }]);
  const { channels } = await sharp(await difference.removeAlpha().png().toBuffer()).stats();
  const mean = channels.reduce((sum, channel) => sum + channel.mean, 0) / channels.length;
  expect(mean, `${file} is outdated; ORIEL_GALLERY=write makes it`).toBeLessThan(TOLERANCE);
}

describe('gallery', () => {
  const folder = mkdtempSync(join(tmpdir(), 'oriel-test-'));
  const imageKey = 'a-key-that-signs-images';
  const folders = { photos: join(folder, 'photos') };
  const daemon = sharedDaemon({ config: { images: { keys: [imageKey], folders } } });
  beforeAll(() => writeScenes(folder));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.for(sections())(
    'command of $title succeeds, and its pictures are current',
    async ({ title, command, pictures }, { skip }) => {
      const task = TASKS[title];
      expect(task, `no pictures are defined for ${title}`).toBeDefined();
      const { name, before, after, check, programs = [] } = task!;
      const missing = absent(...programs);
      if (missing !== null) skip(missing);
      const { url } = daemon();
      const env = { api: url, key: `Authorization: Bearer ${OWNER_KEY}`, IMAGE_KEY: imageKey };
      const { status, stderr } = await run(command, folder, env);
      expect(status, stderr).toBe(0);
      await check?.(folder);
      const shown = before === undefined ? ['after'] : ['before', 'after'];
      expect(pictures).toEqual(shown.map((when) => `${name}-${when}.webp`));
      if (before) await expectCurrent(pictures[0]!, sharp(readFileSync(join(folder, before))));
      const image =
        typeof after === 'string' ? sharp(readFileSync(join(folder, after))) : await after(folder);
      await expectCurrent(pictures.at(-1)!, image);
    },
  );

  it('shows each task and no other pictures, in less than 300 KB', () => {
    const shown = sections();
    expect(shown.map(({ title }) => title)).toEqual(Object.keys(TASKS));
    expect(shown).toHaveLength(28);
    const files = readdirSync(PICTURES);
    expect(files.toSorted()).toEqual(shown.flatMap(({ pictures }) => pictures).toSorted());
    const bytes = files.reduce((sum, file) => sum + statSync(join(PICTURES, file)).size, 0);
    expect(bytes).toBeLessThan(MAX_BYTES);
  });
});
