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
import { ROOT, shell } from '../oriel.ts';
import { writeScenes } from './scenes.ts';

const GALLERY = join(ROOT, 'test/gallery');
const PICTURES = join(GALLERY, 'pictures');
const MAX_BYTES = 300 * 1024;

/** ORIEL_GALLERY=write makes the pictures anew; without it the test compares them. */
const WRITES = process.env['ORIEL_GALLERY'] === 'write';
/** Mean difference of a sample, of 255: another encoder may differ by that. */
const TOLERANCE = 6;

/** Images of one task, made after its command has run in `folder`. */
interface Task {
  readonly name: string;
  readonly before: string;
  /** A path of an output, or what the report of the command shows. */
  readonly after: string | ((folder: string) => Promise<Sharp> | Sharp);
  /** What the pictures do not show. */
  check?(folder: string): Promise<void> | void;
}

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

function jsonOf(folder: string, file: string) {
  return JSON.parse(readFileSync(join(folder, file), 'utf8'));
}

const TASKS: Readonly<Record<string, Task>> = {
  'Web sizes in three formats': {
    name: 'srcset',
    before: 'photos/lake.jpg',
    after: 'web/lake-400w.webp',
    check(folder) {
      const html = readFileSync(join(folder, 'web.html'), 'utf8');
      const files = readdirSync(join(folder, 'web'));
      // Widths beyond the photographs, which have 960 pixels, give one of their own width.
      expect(files).toHaveLength(3 * 3 * 3);
      for (const file of files) expect(html).toContain(`/web/${file}`);
    },
  },
  'Thumbnails that are kept up to date': {
    name: 'thumbnails',
    before: 'photos/night.jpg',
    after: 'thumbnails/night-thumbnail.webp',
    async check(folder) {
      const check =
        'oriel run thumbnails --check --recursive photos --out thumbnails --incremental';
      expect((await shell(check, { cwd: folder })).status).toBe(0);
    },
  },
  'A size in kilobytes': {
    name: 'optimize',
    before: 'photos/dunes.jpg',
    after: 'small/dunes.webp',
    check(folder) {
      for (const file of readdirSync(join(folder, 'small'))) {
        expect(statSync(join(folder, 'small', file)).size).toBeLessThanOrEqual(12_000);
      }
    },
  },
  Favicon: {
    name: 'favicon',
    before: 'logo.png',
    after: 'icons/icon-maskable-512.png',
    check(folder) {
      const html = readFileSync(join(folder, 'icons.html'), 'utf8');
      for (const file of ['favicon.ico', 'icon-192.png', 'apple-touch-icon.png']) {
        expect(html).toContain(`href="/${file}"`);
        expect(statSync(join(folder, 'icons', file)).size).toBeGreaterThan(0);
      }
      expect(jsonOf(folder, 'icons/site.webmanifest').icons.length).toBeGreaterThan(1);
    },
  },
  'Photographs without GPS': {
    name: 'gps',
    before: 'photos/lake.jpg',
    after: 'public/lake.jpg',
    async check(folder) {
      const read = (file: string) => sharp(readFileSync(join(folder, file)));
      const [before, after] = [read('photos/lake.jpg'), read('public/lake.jpg')];
      const gps = Buffer.from([0x25, 0x88]);
      expect((await before.metadata()).exif!.includes(gps)).toBe(true);
      const { exif } = await after.metadata();
      expect(exif!.includes(gps)).toBe(false);
      expect(exif!.includes('CC0')).toBe(true);
      expect((await before.raw().toBuffer()).equals(await after.raw().toBuffer())).toBe(true);
    },
  },
  Duplicates: {
    name: 'duplicates',
    before: 'photos/lake.jpg',
    after(folder) {
      const { groups } = jsonOf(folder, 'duplicates.json');
      expect(groups).toHaveLength(1);
      expect(groups[0].keep.inputFilename).toBe('photos/lake.jpg');
      return sharp(readFileSync(join(folder, groups[0].duplicates[0].inputFilename)));
    },
  },
  'What compression changed': {
    name: 'compare',
    before: 'photos/sent/lake-small.jpg',
    after: 'difference.png',
  },
  'Placeholders while a page loads': {
    name: 'placeholder',
    before: 'photos/night.jpg',
    after(folder) {
      const { results } = jsonOf(folder, 'placeholders.json');
      const night = results.find(({ inputFilename }: { inputFilename: string }) =>
        inputFilename.endsWith('night.jpg'),
      );
      const bytes = Buffer.from(night.data.dataUrl.split(',')[1], 'base64');
      return sharp(bytes).resize(280, 187, { fit: 'fill', kernel: 'cubic' });
    },
  },
  'A contact sheet': { name: 'montage', before: 'photos/night.jpg', after: 'sheet.jpg' },
  'A watermark': { name: 'watermark', before: 'photos/lake.jpg', after: 'marked/lake.jpg' },
};

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
  beforeAll(() => writeScenes(folder));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each(sections())(
    'command of $title succeeds, and its pictures are current',
    async ({ title, command, pictures }) => {
      const task = TASKS[title];
      expect(task, `no pictures are defined for ${title}`).toBeDefined();
      const { name, before, after, check } = task!;
      const { status, stderr } = await shell(command, { cwd: folder });
      expect(status, stderr).toBe(0);
      await check?.(folder);
      expect(pictures).toEqual([`${name}-before.webp`, `${name}-after.webp`]);
      await expectCurrent(pictures[0]!, sharp(readFileSync(join(folder, before))));
      const image =
        typeof after === 'string' ? sharp(readFileSync(join(folder, after))) : await after(folder);
      await expectCurrent(pictures[1]!, image);
    },
  );

  it('shows ten tasks and no other pictures, in less than 300 KB', () => {
    const shown = sections();
    expect(shown.map(({ title }) => title)).toEqual(Object.keys(TASKS));
    expect(shown).toHaveLength(10);
    const files = readdirSync(PICTURES);
    expect(files.toSorted()).toEqual(shown.flatMap(({ pictures }) => pictures).toSorted());
    const bytes = files.reduce((sum, file) => sum + statSync(join(PICTURES, file)).size, 0);
    expect(bytes).toBeLessThan(MAX_BYTES);
  });
});
