import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import sharp, { type Sharp } from 'sharp';
import { expect } from 'vitest';
import { gainMapOf } from '../fixtures/gain-map.ts';
import { shell } from '../oriel.ts';

/** Images of one task, made after its command has run in `folder`. */
export interface Task {
  readonly name: string;
  /** Programs without which the command cannot run. */
  readonly programs?: readonly string[];
  /** Undefined for a file that libvips does not read. */
  readonly before?: string;
  /** A path of an output, or what the report of the command shows. */
  readonly after: string | ((folder: string) => Promise<Sharp> | Sharp);
  /** What the pictures do not show. */
  check?(folder: string): Promise<void> | void;
}

function jsonOf(folder: string, file: string) {
  return JSON.parse(readFileSync(join(folder, file), 'utf8'));
}

export const TASKS: Readonly<Record<string, Task>> = {
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
  'Colours for print': {
    name: 'print',
    before: 'photos/lake.jpg',
    after: 'print/lake.tiff',
    async check(folder) {
      const { space, icc } = await sharp(join(folder, 'print/lake.tiff')).metadata();
      expect([space, icc !== undefined]).toEqual(['cmyk', true]);
    },
  },
  'A hazy photograph': { name: 'hazy', before: 'hazy/lake.jpg', after: 'clear/lake.jpg' },
  'Negatives of a film': { name: 'film', before: 'film/dunes.jpg', after: 'positive/dunes.jpg' },
  'Dust on a scan': { name: 'dust', before: 'scans/night.png', after: 'clean/night.png' },
  'A warm tone': { name: 'sepia', before: 'photos/lake.jpg', after: 'old/lake.jpg' },
  'Round corners': { name: 'round', before: 'photos/dunes.jpg', after: 'cards/dunes.png' },
  'A shape cut out': { name: 'mask', before: 'photos/night.jpg', after: 'shaped/night.webp' },
  'A logo on a background': { name: 'flat', before: 'logo.png', after: 'flat/logo.jpg' },
  'Portraits by the face': { name: 'face', before: 'people/hill.jpg', after: 'faces/hill.jpg' },
  'A focal point': { name: 'focus', before: 'people/hill.jpg', after: 'tall/hill.jpg' },
  'SVG for the web': {
    name: 'svg',
    before: 'icons-of-an-editor/logo.svg',
    after: 'icons/logo.svg',
    check(folder) {
      const [before, after] = ['icons-of-an-editor', 'icons'].map((name) => {
        return statSync(join(folder, name, 'logo.svg')).size;
      });
      expect(after).toBeLessThan(before! * 0.6);
    },
  },
  'HDR photographs of phones': {
    name: 'hdr',
    before: 'phone/hdr.jpg',
    after: 'small-hdr/hdr.jpg',
    async check(folder) {
      const map = await gainMapOf(readFileSync(join(folder, 'small-hdr/hdr.jpg')));
      expect(map).toMatchObject({ width: 100, height: 67 });
    },
  },
  'HEIC of phones': { name: 'heic', programs: ['heif-enc'], after: 'web-heic/lake.webp' },
  'Camera raw': { name: 'raw', programs: ['exiftool'], after: 'previews/night.jpg' },
  'JPEG XL': {
    name: 'jxl',
    programs: ['cjxl', 'djxl'],
    before: 'photos/dunes.jpg',
    async after(folder) {
      const [before, after] = ['photos/dunes.jpg', 'archive/dunes.jxl'].map((file) => {
        return statSync(join(folder, file)).size;
      });
      expect(after).toBeLessThan(before!);
      await shell('oriel convert --format png archive/dunes.jxl', { cwd: folder });
      return sharp(readFileSync(join(folder, 'archive/dunes.png')));
    },
  },
  'First pages of PDF': { name: 'pdf', programs: ['pdftoppm'], after: 'pages/report.png' },
  'A contact sheet over HTTP': {
    name: 'sheet',
    programs: ['curl', 'unzip'],
    before: 'photos/dunes.jpg',
    after: (folder) => sharp(execFileSync('unzip', ['-p', 'sheet.zip', '*.jpg'], { cwd: folder })),
  },
  'Images by URL': {
    name: 'url',
    programs: ['curl', 'openssl'],
    before: 'photos/dunes.jpg',
    after: 'graded.jpg',
  },
};
