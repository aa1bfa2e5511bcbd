import { existsSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import { formatOfExtension, IMAGE_EXTENSIONS } from '../../images/formats.ts';
import { sniffMedia } from '../../media/files/media-type.ts';
import { safeBaseName } from '../../operations/batch/filename.ts';
import { existsFailure } from '../files/writer.ts';

/** File extensions of results. */
const RESULT_EXTENSIONS: readonly string[] = [
  ...IMAGE_EXTENSIONS,
  ...['mp4', 'webm', 'mov', 'mkv'],
  ...['mp3', 'wav', 'opus', 'ogg', 'aac', 'm4a', 'flac', 'pcm'],
];

const MAX_WORDS = 6;
const MAX_CHARACTERS = 48;

/** A file name of a prompt's first words, without an extension: `a-lighthouse-at-dusk`. */
export function stemOf(prompt: string, fallback: string): string {
  // The name has six words at most, so that the rest of a long prompt need not be normalised.
  const words = prompt.slice(0, 1000).normalize('NFC').toLowerCase();
  const kept = (words.match(/[\p{L}\p{M}\p{N}]+/gu) ?? []).slice(0, MAX_WORDS);
  let stem = '';
  for (const word of kept) {
    const longer = stem === '' ? word : `${stem}-${word}`;
    if ([...longer].length > MAX_CHARACTERS) break;
    stem = longer;
  }
  // The first word is too long, or the prompt has none.
  if (stem === '') stem = [...(kept[0] ?? fallback)].slice(0, MAX_CHARACTERS).join('');
  return safeBaseName(stem);
}

/** Whether `--out` names a file: it has an extension of results, and no folder has that name. */
function namesFile(out: string | undefined): out is string {
  if (out === undefined || /[/\\]$/.test(out)) return false;
  const ending = extname(out).slice(1).toLowerCase();
  if (!RESULT_EXTENSIONS.includes(ending)) return false;
  try {
    return statSync(out, { throwIfNoEntry: false })?.isDirectory() !== true;
  } catch {
    // `stat` failed; writing the file will report the reason.
    return true;
  }
}

/** A path for a result. */
export interface ResultPath {
  readonly path: string;
  /** Whether the next name may be used where another process takes this one. */
  readonly replaceable: boolean;
}

/** Assigns paths to the results of a command. */
export class ResultNames {
  /** Set where `--out` names the first result. */
  readonly #file: string | undefined;
  readonly #folder: string;
  readonly #stem: string;
  readonly #overwrite: boolean;
  #number = 0;

  /**
   * @param stem file name of results in a folder, without an extension
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
   * Checks the paths before a request that costs credits.
   *
   * @throws Failure `output_exists` where a result would replace a file
   */
  check(count: number): void {
    if (this.#file === undefined || this.#overwrite) return;
    for (let number = 1; number <= count; number += 1) {
      const path = this.#numbered(this.#file, number);
      if (existsSync(path)) throw existsFailure(path);
    }
  }

  /** @param extension of the result, without a dot */
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

/** Whether the extension of a path fits that of its content. */
export function extensionFits(path: string, extension: string): boolean {
  const extensionGiven = extname(path).slice(1).toLowerCase();
  const format = formatOfExtension(extensionGiven);
  return (
    extensionGiven === extension || (format !== null && format === formatOfExtension(extension))
  );
}

/** The kind of a result. */
export interface ResultKind {
  /** File extension, without a dot. */
  readonly extension: string;
  readonly isImage: boolean;
}

/**
 * Detects the kind of a result by its content, or by the extension of its address where the content
 * has no signature, as with raw audio samples.
 *
 * @param address empty where there is none
 */
export function kindOf(bytes: Uint8Array, address: string): ResultKind {
  const media = sniffMedia(bytes);
  if (media !== null) return { extension: media.extension, isImage: media.kind === 'image' };
  const path = address.replace(/[?#].*$/s, '');
  const ending = extname(path).slice(1).toLowerCase();
  return { extension: RESULT_EXTENSIONS.includes(ending) ? ending : 'bin', isImage: false };
}
