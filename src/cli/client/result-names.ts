import { existsSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import { formatOfExtension, IMAGE_EXTENSIONS } from '../../images/formats.ts';
import { safeBaseName } from '../../operations/filename.ts';
import { existsFailure } from '../writer.ts';

/** Endings of what models make. */
export const RESULT_EXTENSIONS: readonly string[] = [
  ...IMAGE_EXTENSIONS,
  ...['mp4', 'webm', 'mov', 'mkv'],
  ...['mp3', 'wav', 'opus', 'ogg', 'aac', 'm4a', 'flac', 'pcm'],
];

const WORDS = 6;
const LETTERS = 48;

/** A file name of a prompt's first words, without an ending: `a-lighthouse-at-dusk`. */
export function stemOf(prompt: string, fallback: string): string {
  // Further words would not be kept: no reason to look at a long prompt's.
  const words = prompt.slice(0, 1000).normalize('NFC').toLowerCase();
  const kept = (words.match(/[\p{L}\p{M}\p{N}]+/gu) ?? []).slice(0, WORDS);
  let stem = '';
  for (const word of kept) {
    const longer = stem === '' ? word : `${stem}-${word}`;
    if ([...longer].length > LETTERS) break;
    stem = longer;
  }
  // Of a prompt whose first word is too long, or that has none.
  if (stem === '') stem = [...(kept[0] ?? fallback)].slice(0, LETTERS).join('');
  return safeBaseName(stem);
}

/** Whether `--out` names a file, by its ending, rather than a folder. */
function namesFile(out: string | undefined): out is string {
  if (out === undefined || /[/\\]$/.test(out)) return false;
  const ending = extname(out).slice(1).toLowerCase();
  if (!RESULT_EXTENSIONS.includes(ending)) return false;
  try {
    return statSync(out, { throwIfNoEntry: false })?.isDirectory() !== true;
  } catch {
    // Nothing that we may look at; writing it will say why.
    return true;
  }
}

/** A path for a result. */
export interface ResultPath {
  readonly path: string;
  /** Where another file may have the name first, the next one is as good. */
  readonly replaceable: boolean;
}

/** The paths of a command's results. */
export class ResultNames {
  /** Set where `--out` names the first result itself. */
  readonly #file: string | undefined;
  readonly #folder: string;
  readonly #stem: string;
  readonly #overwrite: boolean;
  #number = 0;

  /**
   * @param stem of results in a folder
   */
  constructor(
    { out, overwrite }: { readonly out?: string | undefined; readonly overwrite: boolean },
    stem: string,
  ) {
    this.#file = namesFile(out) ? out : undefined;
    this.#folder = out ?? '.';
    this.#stem = stem;
    this.#overwrite = overwrite;
  }

  /**
   * Looks before anything is paid for.
   *
   * @throws Failure `output_exists` where one of so many results would have another file's name
   */
  check(count: number): void {
    if (this.#file === undefined || this.#overwrite) return;
    for (let number = 1; number <= count; number += 1) {
      const path = this.#numbered(this.#file, number);
      if (existsSync(path)) throw existsFailure(path);
    }
  }

  /** @param extension that fits what came, without a dot */
  next(extension: string): ResultPath {
    this.#number += 1;
    if (this.#file !== undefined) {
      return { path: this.#numbered(this.#file, this.#number), replaceable: false };
    }
    const path = join(this.#folder, `${this.#stem}.${extension}`);
    while (!this.#overwrite && existsSync(this.#numbered(path, this.#number))) this.#number += 1;
    return { path: this.#numbered(path, this.#number), replaceable: !this.#overwrite };
  }

  #numbered(path: string, number: number): string {
    if (number === 1) return path;
    const ending = extname(path);
    return `${path.slice(0, path.length - ending.length)}-${number}${ending}`;
  }
}

/** Whether a file's name says what is in it. */
export function extensionFits(path: string, extension: string): boolean {
  const said = extname(path).slice(1).toLowerCase();
  const format = formatOfExtension(said);
  return said === extension || (format !== null && format === formatOfExtension(extension));
}
