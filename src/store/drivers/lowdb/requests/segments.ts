import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { oneByOne } from '../../../../flow.ts';
import {
  FILE_MODE,
  type Files,
  makeFolder,
  missingAs,
  namesIn,
  remove,
  writeAll,
  writeDurably,
} from '../../../files.ts';

/** Size at which a new file is started: files are read as a whole. */
const FILE_BYTES = 2 * 2 ** 20;

/** Lines that are parsed before others get the event loop. */
const PART_LINES = 500;

/** Numbers are microseconds since the epoch. */
export const NUMBERS_PER_MS = 1000;
const DAY = 86_400_000 * NUMBERS_PER_MS;

const NEWLINE = 0x0a;

/** A line of JSON that begins with its number. */
export interface Line {
  readonly number: number;
  readonly text: string;
}

interface Segment {
  readonly path: string;
  /** No number is lower, and none of the file before is as high. */
  readonly first: number;
  size: number;
}

/** Lines with ascending numbers in files of a few megabytes, at most one day each. */
export class Segments {
  readonly #files: Files;
  readonly #folder: string;
  #loading: Promise<void> | null = null;
  /** Ascending. */
  #segments: Segment[] = [];
  /** The newest segment if it is appended to. */
  #open: { readonly segment: Segment; readonly handle: FileHandle } | null = null;
  /** Changes of files follow one another. */
  readonly #inTurn = oneByOne();

  constructor(files: Files, folder: string) {
    this.#files = files;
    this.#folder = folder;
  }

  /** The highest number; 0 without lines. */
  async newest(): Promise<number> {
    for await (const { texts } of this.read(Infinity, [])) {
      const number = texts.map(numberOf).find((one) => one !== null);
      if (number != null) return number;
    }
    return 0;
  }

  /** Bytes of all files. */
  async bytes(): Promise<number> {
    await this.#loaded();
    return this.#segments.reduce((sum, { size }) => sum + size, 0);
  }

  /** Appends lines without waiting for the disk. @param lines one at least; higher than all before */
  append(lines: readonly Line[]): Promise<void> {
    return this.#inTurn(async () => {
      const first = lines[0]!.number;
      const open = this.#open;
      const isFull =
        open === null ||
        open.segment.size >= FILE_BYTES ||
        Math.floor(first / DAY) > Math.floor(open.segment.first / DAY);
      const { segment, handle } = isFull ? await this.#start(first) : open;
      const bytes = Buffer.from(lines.map(({ text }) => `${text}\n`).join(''));
      // At the end of the lines that are whole: a failed write may have left a part of one.
      await writeAll(handle, bytes, segment.size);
      segment.size += bytes.length;
    });
  }

  /**
   * The lines from the newest on, in parts.
   *
   * @param before only lower numbers
   * @param needles texts of which each line that is wanted has all
   */
  async *read(
    before: number,
    needles: readonly string[],
  ): AsyncGenerator<{ readonly texts: readonly string[]; readonly lowest: number }, void> {
    await this.#loaded();
    const wanted = needles.map((needle) => Buffer.from(needle));
    for (const segment of this.#segments.toReversed()) {
      if (segment.first >= before) continue;
      await setImmediate();
      const bytes = await this.#bytesOf(segment);
      const isWanted = wanted.every((needle) => bytes.includes(needle));
      const texts = isWanted ? linesOf(bytes) : [];
      for (let at = 0; at < texts.length; at += PART_LINES) {
        const part = texts.slice(at, at + PART_LINES);
        const last = at + PART_LINES >= texts.length;
        yield { texts: part, lowest: last ? segment.first : (numberOf(part.at(-1)!) ?? before) };
        await setImmediate();
      }
      if (texts.length === 0) yield { texts, lowest: segment.first };
    }
  }

  /** The line with a number. */
  async find(number: number): Promise<string | undefined> {
    for await (const { texts, lowest } of this.read(number + 1, [headOf(number)])) {
      const found = texts.find((text) => text.startsWith(headOf(number)));
      if (found !== undefined || lowest < number) return found;
    }
    return undefined;
  }

  /** Deletes lines: files are written anew without them. @returns how many */
  async remove(isRemoved: (text: string) => boolean): Promise<number> {
    await this.#loaded();
    // What is appended meanwhile goes to a new file, and is not deleted.
    await this.#inTurn(() => this.#endSegment());
    let removed = 0;
    for (const segment of [...this.#segments]) {
      removed += await this.#inTurn(() => this.#rewrite(segment, isRemoved));
    }
    return removed;
  }

  /** Deletes whole files: of lines below a number, and the oldest ones beyond a size. */
  trim(before: number, maxBytes: number): Promise<void> {
    return this.#inTurn(async () => {
      let sum = await this.bytes();
      for (const segment of [...this.#segments]) {
        const index = this.#segments.indexOf(segment);
        const next = this.#segments[index + 1]?.first ?? Infinity;
        // The newest file may have ended days ago.
        const isOld = next <= before || segment.first + DAY < before;
        if (!isOld && sum <= maxBytes) break;
        if (segment === this.#open?.segment) await this.#endSegment();
        await this.#delete(segment);
        sum -= segment.size;
      }
    });
  }

  async close(): Promise<void> {
    await this.#inTurn(() => this.#endSegment());
  }

  #loaded(): Promise<void> {
    this.#loading ??= this.#load().catch((error: unknown) => {
      this.#loading = null;
      throw error;
    });
    return this.#loading;
  }

  async #load(): Promise<void> {
    const segments: Segment[] = [];
    for (const name of await namesIn(this.#files, this.#folder)) {
      const path = join(this.#folder, name);
      // A deletion that a crash has interrupted.
      if (name.endsWith('.new')) await remove(this.#files, path);
      const [, first] = /^(\d{16})\.jsonl$/.exec(name) ?? [];
      if (first === undefined) continue;
      segments.push({ path, first: Number(first), size: (await this.#files.stat(path)).size });
    }
    this.#segments = segments;
  }

  async #start(first: number) {
    await this.#loaded();
    await this.#endSegment();
    await makeFolder(this.#files, this.#folder);
    const path = join(this.#folder, `${String(first).padStart(16, '0')}.jsonl`);
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC;
    const handle = await this.#files.open(path, flags, FILE_MODE);
    const segment = { path, first, size: 0 };
    this.#segments.push(segment);
    this.#open = { segment, handle };
    return this.#open;
  }

  async #endSegment(): Promise<void> {
    const open = this.#open;
    this.#open = null;
    await open?.handle.close();
  }

  async #rewrite(segment: Segment, isRemoved: (text: string) => boolean): Promise<number> {
    // Deleted meanwhile, with its age.
    if (!this.#segments.includes(segment)) return 0;
    const lines = linesOf(await this.#bytesOf(segment));
    const kept = lines.filter((text) => !isRemoved(text));
    const removed = lines.length - kept.length;
    if (removed === 0) return 0;
    const bytes = Buffer.from(
      kept
        .reverse()
        .map((text) => `${text}\n`)
        .join(''),
    );
    if (bytes.length === 0) await this.#delete(segment);
    else await writeDurably(this.#files, segment.path, bytes);
    segment.size = bytes.length;
    return removed;
  }

  async #delete(segment: Segment): Promise<void> {
    await remove(this.#files, segment.path);
    this.#segments.splice(this.#segments.indexOf(segment), 1);
  }

  /** The whole lines of a file; a crash, or a full disk, may have left a part of one at the end. */
  async #bytesOf({ path, size }: Segment): Promise<Buffer> {
    const whole = await this.#files.readFile(path).catch(missingAs(Buffer.alloc(0)));
    const bytes = whole.subarray(0, size);
    return bytes.subarray(0, bytes.lastIndexOf(NEWLINE) + 1);
  }
}

function headOf(number: number): string {
  return `{"number":${number},`;
}

function numberOf(text: string): number | null {
  const [, digits] = /^\{"number":(\d{1,16}),/.exec(text) ?? [];
  return digits === undefined ? null : Number(digits);
}

/** The lines of a file, the last first. */
function linesOf(bytes: Buffer): string[] {
  const lines = bytes.toString('utf8').split('\n').reverse();
  return lines.filter((line) => line !== '');
}
