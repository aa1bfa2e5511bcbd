import { existsSync, writeFile } from 'node:fs';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import type * as v from 'valibot';
import { Failure } from '../../failure.ts';
import { formatOfExtension, IMAGE_EXTENSIONS } from '../../images/formats.ts';
import { sniffMedia } from '../../media/files/media-type.ts';
import { printable, safeBaseName } from '../../operations/batch/filename.ts';
import { usageFailure } from '../command/command.ts';
import { namesFile } from '../files/naming.ts';
import { existsFailure, Writer } from '../files/writer.ts';
import { print, printStderr } from '../terminal/terminal.ts';
import { type TerminalImages, terminalImages } from '../terminal/terminal-images.ts';
import type { resultFlags } from './client-flags.ts';
import type { DaemonClient } from './daemon-client.ts';

/** One result: its URL, or its bytes. */
export type Output = { readonly url: string } | { readonly base64: string };

type ResultFlags = v.InferOutput<typeof resultFlags>;

const STANDARD_STREAM = '-';

/** A result and its kind. */
type FetchedResult = ReturnType<typeof kindOf> & { readonly bytes: Buffer };

/** Stores the results of a command: in files, or one on standard output. */
export class Results {
  readonly #client: DaemonClient;
  readonly #flags: ResultFlags;
  readonly #names: ResultNames;
  readonly #writer: Writer;
  readonly #show: TerminalImages;

  /**
   * @param stem file name of results in a folder, without an extension
   * @param count results that are requested
   * @throws Failure with code `usage`, or `output_exists` where a file would be replaced
   */
  constructor(client: DaemonClient, flags: ResultFlags, stem: string, count: number) {
    const toStandardOutput = flags.out === STANDARD_STREAM;
    if (toStandardOutput && flags.json) throw usageFailure('--out - and --json cannot be combined');
    if (toStandardOutput && count > 1) {
      throw usageFailure(`--out -: expected one result, received --n ${count}`);
    }
    if (toStandardOutput && process.stdout.isTTY) {
      throw usageFailure('--out -: expected a file or a pipe, received a terminal');
    }
    this.#client = client;
    this.#flags = flags;
    this.#names = new ResultNames(flags, stem);
    if (!toStandardOutput) this.#names.check(count);
    this.#writer = new Writer({ overwrite: flags.overwrite });
    this.#show = terminalImages(flags.show && !flags.json && !toStandardOutput);
  }

  /** Detects the image protocol of the terminal while the task is running. */
  prepare(): void {
    this.#show.prepare();
  }

  /**
   * Saves all results and prints their paths.
   *
   * @returns their paths
   * @throws Failure
   */
  async save(outputs: readonly Output[]): Promise<string[]> {
    if (outputs.length === 0)
      throw new Failure('service_error', 'the response of the daemon has no result');
    if (this.#flags.out === STANDARD_STREAM) {
      await print((await this.#fetch(outputs[0]!)).bytes);
      return [];
    }
    const paths = [];
    for (const output of outputs) paths.push(await this.#keep(await this.#fetch(output)));
    return paths;
  }

  async #keep(result: FetchedResult): Promise<string> {
    const path = await this.#write(result);
    if (!extensionFits(path, result.extension)) {
      printStderr(`oriel: ${path} holds ${result.extension}, whatever its name says`);
    }
    if (this.#flags.json) return path;
    if (result.isImage) await this.#show.show(result.bytes);
    await print(`${process.stdout.isTTY ? printable(path) : path}\n`);
    return path;
  }

  async #write({ bytes, extension }: FetchedResult): Promise<string> {
    for (;;) {
      const { path, replaceable } = this.#names.next(extension);
      try {
        await this.#writer.write(path, (descriptor) => promisify(writeFile)(descriptor, bytes));
        return path;
      } catch (error) {
        // Another process has created the file meanwhile.
        const taken = error instanceof Failure && error.code === 'output_exists';
        if (!taken || !replaceable) throw error;
      }
    }
  }

  async #fetch(output: Output): Promise<FetchedResult> {
    if ('base64' in output) {
      const bytes = Buffer.from(output.base64, 'base64');
      return { bytes, ...kindOf(bytes, '') };
    }
    const bytes = await this.#client.asset(output.url);
    return { bytes, ...kindOf(bytes, output.url) };
  }
}

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

const namesResult = (out: string | undefined) =>
  namesFile(out, (ending) => RESULT_EXTENSIONS.includes(ending));

/** Assigns paths to the results of a command. */
class ResultNames {
  /** Set where `--out` names the first result. */
  readonly #file: string | undefined;
  readonly #folder: string;
  readonly #stem: string;
  readonly #overwrite: boolean;
  #number = 0;

  /**
   * @param stem file name of results in a folder, without an extension
   */
  constructor({ out, overwrite }: ResultFlags, stem: string) {
    this.#file = namesResult(out) ? out : undefined;
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

  /**
   * @param extension of the result, without a dot
   * @returns a path, which is `replaceable` if the next name may be used when another process takes this one
   */
  next(extension: string): { readonly path: string; readonly replaceable: boolean } {
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
function extensionFits(path: string, extension: string): boolean {
  const extensionGiven = extname(path).slice(1).toLowerCase();
  const format = formatOfExtension(extensionGiven);
  return (
    extensionGiven === extension || (format !== null && format === formatOfExtension(extension))
  );
}

/**
 * Detects the file extension of a result, without a dot, by its content, or by the extension of its address if the
 * content has no signature, as with raw audio samples.
 *
 * @param address empty if there is none
 */
export function kindOf(bytes: Uint8Array, address: string) {
  const media = sniffMedia(bytes);
  if (media !== null) return { extension: media.extension, isImage: media.kind === 'image' };
  const path = address.replace(/[?#].*$/s, '');
  const ending = extname(path).slice(1).toLowerCase();
  return { extension: RESULT_EXTENSIONS.includes(ending) ? ending : 'bin', isImage: false };
}
