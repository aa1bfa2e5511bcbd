import { basename, dirname, extname, join, resolve } from 'node:path';
import { codedFailure } from '../../failure.ts';
import {
  type FileFormat,
  formatOfExtension,
  IMAGE_EXTENSIONS,
  outputExtension,
} from '../../images/formats.ts';
import type { OutputImage } from '../../images/output.ts';
import { fillTemplate, templateFault } from '../../operations/definition/name-template.ts';
import { usageFailure } from '../command/command.ts';
import { type Input, statOf } from './inputs.ts';

export interface NamingFlags {
  /** A folder, or with one input a file. By default outputs are written beside their inputs. */
  readonly out?: string | undefined;
  /** A template with the placeholders below. */
  readonly name?: string | undefined;
}

/** Properties of the decoded output, for placeholders. */
interface OutputFacts {
  readonly format: FileFormat;
  readonly width: number;
  readonly height: number;
  readonly output?: OutputImage['output'];
  readonly kept?: true;
  readonly sha256: string;
  readonly taken?: string | null;
}

/** Equal for paths of one file: on macOS and Windows, case and Unicode form do not count. */
function identity(path: string): string {
  const ignoresCase = process.platform === 'darwin' || process.platform === 'win32';
  return ignoresCase ? resolve(path).normalize('NFC').toLowerCase() : resolve(path);
}

/** The format of `--out photo.webp`; null where the path names no image file. */
export function formatOfPath(path: string | undefined): FileFormat | null {
  return namesImage(path) ? formatOfExtension(extname(path).slice(1)) : null;
}

const namesImage = (out: string | undefined): out is string =>
  namesFile(out, (ending) => formatOfExtension(ending) !== null);

/** Whether `--out` names a file: it has the extension of one, and no folder has that name. */
export function namesFile(
  out: string | undefined,
  isExtension: (ending: string) => boolean,
): out is string {
  if (out === undefined || /[/\\]$/.test(out)) return false;
  if (!isExtension(extname(out).slice(1).toLowerCase())) return false;
  // Where `stat` failed, writing the file will report the reason.
  return statOf(out)?.isDirectory() !== true;
}

/** Whether `--out` names an image of a format that is not written. */
const isForeignImage = (out: string | undefined): boolean =>
  !namesImage(out) && namesFile(out, (ending) => IMAGE_EXTENSIONS.includes(ending));

/** How the outputs of two inputs get different paths. */
function adviceFor(filename: string, other: string): string {
  const numbers = "--name '{name}-{index}.{ext}' numbers the files";
  return dirname(filename) === dirname(other)
    ? numbers
    : `--recursive keeps folders apart below --out, and ${numbers}`;
}

/** Assigns a unique path to each output, before the work where the template allows. */
export class OutputNames {
  readonly #template: string;
  readonly #folder: string | undefined;
  /** Set where `--out` names the only output. */
  readonly #file: string | undefined;
  /** Filenames of the inputs, by path. */
  readonly #inputs = new Map<string, string>();
  /** Filename of the input that claimed an output, by path. */
  readonly #owners = new Map<string, string>();

  /** @throws Failure with code `usage` for an invalid template or `--out` */
  constructor({ out, name = '{name}.{ext}' }: NamingFlags, inputs: readonly Input[]) {
    const fault = templateFault(name);
    if (fault !== null) throw usageFailure(`--name: ${fault}`);
    this.#template = name;
    const isFile = namesImage(out);
    if (isFile && inputs.length > 1) {
      throw usageFailure(
        `--out ${out}: expected a folder for ${inputs.length} images, received the name of one; ${out}/ is a folder`,
      );
    }
    if (isForeignImage(out)) {
      throw usageFailure(
        `--out ${out}: expected the ending of jpeg, png, webp, avif, gif or tiff; ${out}/ is a folder`,
      );
    }
    this.#file = isFile ? out : undefined;
    this.#folder = out;
    for (const { filename, source } of inputs) {
      if ('path' in source) this.#inputs.set(identity(source.path), filename);
    }
  }

  /**
   * The path of an output.
   *
   * @param index from 0
   * @param facts known properties of the output
   * @returns null where the template needs properties that only the decoded image has
   */
  predict(input: Input, index: number, facts: Partial<OutputFacts>): string | null {
    if (this.#file !== undefined) return this.#file;
    const base = basename(input.relativePath);
    const own = extname(base);
    const format = facts.format ?? formatOfExtension(own.slice(1));
    const name = fillTemplate(facts.output?.nameTemplate ?? this.#template, {
      name: own === '' ? base : base.slice(0, -own.length),
      ext: format === null ? undefined : outputExtension(base, format),
      format: format ?? undefined,
      index: index + 1,
      width: facts.width,
      height: facts.height,
      hash: facts.sha256,
      parent: basename(dirname(resolve(input.filename))),
      date: facts.taken,
    });
    if (name === null) return null;
    const folder =
      this.#folder === undefined
        ? dirname(input.filename)
        : join(this.#folder, dirname(input.relativePath));
    return join(folder, name);
  }

  /**
   * Claims a predicted path for an input.
   *
   * @throws Failure with code `usage` where another input has claimed it, or is that file
   */
  claim(path: string, input: Input): void {
    const { filename } = input;
    const owner = this.#owners.get(identity(path)) ?? filename;
    const conflict = this.#claim(path, input);
    if (conflict !== null) throw usageFailure(`${conflict}; ${adviceFor(filename, owner)}`);
  }

  /**
   * The path of an output before it is written.
   *
   * @throws Failure with code `output_exists` where another input has claimed it, or is that file
   */
  resolve(input: Input, index: number, facts: OutputFacts): string {
    const path = this.predict(input, index, facts)!;
    const named = formatOfPath(this.#file);
    if (named === 'svg' && facts.format !== named) {
      const message = `${path}: expected the ending of ${facts.format}; SVG is written from SVG alone`;
      throw codedFailure('processing_failed', message);
    }
    if (facts.kept && this.#file !== undefined && named !== facts.format) {
      const message = `no smaller image than the ${facts.format.toUpperCase()} was found, whose bytes cannot be ${path}; name a folder, or --no-keep-if-smaller`;
      throw codedFailure('larger_than_input', message);
    }
    const conflict = this.#claim(path, input, facts.output);
    if (conflict !== null) {
      throw codedFailure('output_exists', conflict);
    }
    return path;
  }

  /** Whether a path is that of the input itself. */
  isInput(path: string, { source }: Input): boolean {
    return 'path' in source && identity(source.path) === identity(path);
  }

  /** Claims a path for an input; returns null, or the reason why that is not possible. */
  #claim(path: string, { filename }: Input, output?: OutputImage['output']): string | null {
    const key = identity(path);
    const owner = this.#owners.get(key);
    if (owner !== undefined && output && owner === filename) {
      return `two outputs of ${filename} would both be written to ${path}`;
    }
    if (owner !== undefined && owner !== filename) {
      return `${owner} and ${filename} would both be written to ${path}`;
    }
    const replaced = this.#inputs.get(key);
    if (replaced !== undefined && replaced !== filename) {
      return `${filename} would be written over ${replaced}, which is an input too`;
    }
    this.#owners.set(key, filename);
    return null;
  }
}
