import { copyFileSync, existsSync, linkSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import sharp, { type Sharp } from 'sharp';
import { photo, randomNumbers } from './photo.ts';

/** Version of the generated files; raise it whenever they change, so that old ones are not reused. */
const version = 2;

/** Input files of a contender. */
export interface Inputs {
  /** The folder that holds these files and no others. */
  folder: string;
  files: readonly string[];
  /** The same files as a NUL-separated list, for `xargs -0`. */
  list: string;
  /** Stored width and height of each file, in the same order, for checks. */
  sizes: readonly Size[];
}

export interface Size {
  width: number;
  height: number;
}

/** A generated file, before it gets its names. */
interface Original extends Size {
  file: string;
}

/**
 * The benchmark's inputs, made on first use and kept. They are the same on every machine with the same
 * sharp: everything is drawn from numbered seeds.
 */
export class Corpus {
  readonly #folder: string;
  readonly #log: (line: string) => void;

  constructor(scratch: string, log: (line: string) => void) {
    this.#folder = join(scratch, `corpus-${version}-sharp-${sharp.versions.sharp}`);
    this.#log = log;
  }

  /** Photographs of 12 megapixels, JPEG at quality 90, each under `copies` names. */
  async photos(count: number, copies = 1): Promise<Inputs> {
    const originals = await this.#photos('photo', count, { width: 4000, height: 3000 });
    return this.#named(`photos-${count}x${copies}`, originals, count * copies);
  }

  /** Photographs of 3 megapixels, for work of seconds a megapixel. */
  async smallerPhotos(count: number): Promise<Inputs> {
    const originals = await this.#photos('web', count, { width: 2048, height: 1536 });
    return this.#named(`web-${count}`, originals, count);
  }

  /** One JPEG of 640x480. */
  async one(): Promise<Inputs> {
    const originals = await this.#photos('one', 1, { width: 640, height: 480 });
    return this.#named('one', originals, 1);
  }

  /** The path of a small text, such as a recipe. */
  text(name: string, content: string): string {
    const file = join(this.#folder, name);
    mkdirSync(this.#folder, { recursive: true });
    writeFileSync(file, content);
    return file;
  }

  async #photos(name: string, count: number, size: Size): Promise<Original[]> {
    const originals: Original[] = [];
    for (let index = 1; index <= count; index++) {
      const label = `${name}-${String(index).padStart(2, '0')}.jpg`;
      const file = await this.#made(label, async () =>
        withCameraData((await photo(index, size.width, size.height)).jpeg({ quality: 90 })),
      );
      originals.push({ file, ...size });
    }
    return originals;
  }

  /**
   * Small files, some with orientation or alpha, in the formats that all contenders read: not every
   * libvips and ImageMagick has AVIF.
   */
  async mixed(count: number): Promise<Inputs> {
    const pictures = await this.#small('mixed', count, 160, 640, [
      ['jpg', (picture) => withCameraData(picture.jpeg())],
      ['jpg', (picture) => picture.jpeg({ progressive: true })],
      ['jpg', (picture) => picture.withMetadata({ orientation: 6 }).jpeg()],
      ['png', (picture) => picture.png()],
      ['png', (picture) => picture.ensureAlpha(0.5).png()],
      ['webp', (picture) => picture.webp()],
      ['gif', (picture) => picture.gif({ effort: 1 })],
      ['tiff', (picture) => picture.tiff({ compression: 'lzw' })],
    ]);
    return this.#named(`mixed-${count}`, pictures, count);
  }

  /** Thumbnails, JPEG and PNG, of which fifty differ. */
  async thumbnails(count: number): Promise<Inputs> {
    const pictures = await this.#small('thumbnail', 50, 64, 200, [
      ['jpg', (picture) => picture.jpeg()],
      ['png', (picture) => picture.png()],
    ]);
    return this.#named(`thumbnails-${count}`, pictures, count);
  }

  async #small(
    name: string,
    count: number,
    smallest: number,
    largest: number,
    kinds: readonly [string, (picture: Sharp) => Sharp][],
  ): Promise<Original[]> {
    const random = randomNumbers(count);
    const pictures: Original[] = [];
    for (let index = 0; index < count; index++) {
      const width = Math.round(smallest + random() * (largest - smallest));
      const height = Math.round(width * 0.75);
      const [extension, encode] = kinds[index % kinds.length]!;
      const label = `${name}-${String(index).padStart(3, '0')}.${extension}`;
      const file = await this.#made(label, async () => encode(await photo(index, width, height)));
      pictures.push({ file, width, height });
    }
    return pictures;
  }

  /** The path of a file, which is generated if missing and renamed into place once it is whole. */
  async #made(name: string, make: () => Promise<Sharp>): Promise<string> {
    const folder = join(this.#folder, 'originals');
    const file = join(folder, name);
    if (!existsSync(file)) {
      this.#log(`  making ${name}`);
      mkdirSync(folder, { recursive: true });
      await (await make()).toFile(`${file}.part`);
      renameSync(`${file}.part`, file);
    }
    return file;
  }

  /** A folder with `count` names for these originals, in turn. */
  #named(name: string, originals: readonly Original[], count: number): Inputs {
    const folder = join(this.#folder, name);
    const list = `${folder}.list`;
    mkdirSync(folder, { recursive: true });
    const files: string[] = [];
    const sizes: Size[] = [];
    for (let index = 0; index < count; index++) {
      const original = originals[index % originals.length]!;
      const label = `picture-${String(index).padStart(5, '0')}${extname(original.file)}`;
      const file = join(folder, label);
      if (!existsSync(file)) link(original.file, file);
      files.push(file);
      sizes.push(original);
    }
    writeFileSync(list, files.join('\0'));
    return { folder, files, list, sizes };
  }
}

function withCameraData(picture: Sharp): Sharp {
  return picture.withExif({
    IFD0: { Make: 'Bench', Model: 'Seeded', Orientation: '1', Software: 'photo.ts' },
    IFD2: { FNumber: '28/10', ExposureTime: '1/125', ISOSpeedRatings: '200' },
  });
}

function link(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    // A file system without hard links.
    copyFileSync(from, to);
  }
}
