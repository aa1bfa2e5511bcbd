import { existsSync, statSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { Failure } from '../failure.ts';
import {
  formatOfExtension,
  IMAGE_EXTENSIONS,
  type OutputFormat,
  outputExtension,
} from '../images/formats.ts';
import type { Input } from './inputs.ts';
import { usageFailure } from './usage.ts';

export interface NamingFlags {
  /** A folder, or with one input a file; beside the inputs where not given. */
  readonly out?: string | undefined;
  /** A template of the placeholders below. */
  readonly name?: string | undefined;
}

const PLACEHOLDERS = ['name', 'ext', 'width', 'height', 'index', 'format'] as const;

type Placeholder = (typeof PLACEHOLDERS)[number];

/** What the decoded output adds to what the input's name told. */
interface OutputFacts {
  readonly format: OutputFormat;
  readonly width: number;
  readonly height: number;
}

const PLACEHOLDER = /\{([^{}]*)\}/g;

function checkTemplate(template: string): void {
  for (const [text, placeholder] of template.matchAll(PLACEHOLDER)) {
    if (!PLACEHOLDERS.some((known) => known === placeholder)) {
      const known = PLACEHOLDERS.map((name) => `{${name}}`).join(' ');
      throw usageFailure(`--name: expected ${known}, received ${text}`);
    }
  }
  const stray = /[{}]/.exec(template.replace(PLACEHOLDER, ''))?.[0];
  if (stray !== undefined) {
    throw usageFailure(`--name: expected braces in pairs, received a ${stray} alone`);
  }
  if (/[/\\]/.test(template)) {
    throw usageFailure('--name: expected a file name, received a path; --out names the folder');
  }
  if (template === '.' || template === '..') {
    throw usageFailure(`--name: expected a file name, received ${template}`);
  }
}

/** Names that differ only in case, or in Unicode form, are one file to these systems. */
function identity(path: string): string {
  const folds = process.platform === 'darwin' || process.platform === 'win32';
  return folds ? resolve(path).normalize('NFC').toLowerCase() : resolve(path);
}

/** The output format that `--out photo.webp` asks for; null where that is no file's name. */
export function formatOfPath(path: string | undefined): OutputFormat | null {
  return path !== undefined && namesFile(path) ? formatOfExtension(extname(path).slice(1)) : null;
}

/** Whether `--out` names the one output: by an image's ending, unless a folder has that name. */
function namesFile(out: string | undefined): out is string {
  if (out === undefined || /[/\\]$/.test(out)) return false;
  if (formatOfExtension(extname(out).slice(1)) === null) return false;
  try {
    return statSync(out, { throwIfNoEntry: false })?.isDirectory() !== true;
  } catch {
    // Nothing that we may look at; writing it will say why.
    return true;
  }
}

/** Whether a path has the ending of an image that we cannot write: surely no folder was meant. */
function isForeignImage(path: string): boolean {
  if (/[/\\]$/.test(path)) return false;
  const ending = extname(path).slice(1).toLowerCase();
  const foreign = IMAGE_EXTENSIONS.includes(ending) && formatOfExtension(ending) === null;
  return foreign && !existsSync(path);
}

const ADVICE =
  "--recursive keeps folders apart below --out, and --name '{name}-{index}.{ext}' numbers the files";

/** The path of each output, known before the work where the template allows, and claimed once. */
export class OutputNames {
  readonly #template: string;
  readonly #folder: string | undefined;
  /** Set where `--out` names the one output itself. */
  readonly #file: string | undefined;
  /** Which file each input is. */
  readonly #inputs = new Map<string, string>();
  /** Which input has which output. */
  readonly #owners = new Map<string, string>();

  /** @throws Failure with code `usage` for a template or an `--out` that makes no sense */
  constructor({ out, name = '{name}.{ext}' }: NamingFlags, inputs: readonly Input[]) {
    checkTemplate(name);
    this.#template = name;
    const isFile = namesFile(out);
    if (isFile && inputs.length > 1) {
      throw usageFailure(
        `--out ${out}: expected a folder for ${inputs.length} images, received the name of one; ${out}/ is a folder`,
      );
    }
    if (!isFile && out !== undefined && isForeignImage(out)) {
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
   * The path of an output, as far as it is known before any work.
   *
   * @param index from 0
   * @param format the format asked for, if any
   * @returns null where the template needs what only the decoded image tells
   */
  predict(input: Input, index: number, format: OutputFormat | undefined): string | null {
    return this.#path(input, index, format ? { format } : {});
  }

  /**
   * Claims a predicted path for an input.
   *
   * @throws Failure with code `usage` where another input has it as its output, or is it
   */
  claim(path: string, input: Input): void {
    const conflict = this.#conflict(path, input);
    if (conflict !== null) throw usageFailure(`${conflict}; ${ADVICE}`);
  }

  /**
   * The path of an output that is ready to be written.
   *
   * @throws Failure with code `output_exists` where another input of this batch has it, or is it
   */
  resolve(input: Input, index: number, facts: OutputFacts): string {
    const path = this.#path(input, index, facts)!;
    const conflict = this.#conflict(path, input);
    if (conflict !== null) {
      throw new Failure('invalid_request', conflict, { code: 'output_exists' });
    }
    return path;
  }

  /** Why an input may not have a path as its output, or null when it is now its own. */
  #conflict(path: string, { filename }: Input): string | null {
    const key = identity(path);
    const owner = this.#owners.get(key);
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

  #path(input: Input, index: number, facts: Partial<OutputFacts>): string | null {
    if (this.#file !== undefined) return this.#file;
    const base = basename(input.kept);
    const own = extname(base);
    const format = facts.format ?? formatOfExtension(own.slice(1));
    const values: { readonly [Key in Placeholder]: string | number | undefined } = {
      name: own === '' ? base : base.slice(0, -own.length),
      ext: format === null ? undefined : outputExtension(base, format),
      format: format ?? undefined,
      index: index + 1,
      width: facts.width,
      height: facts.height,
    };
    let complete = true;
    const name = this.#template.replace(PLACEHOLDER, (_, placeholder: Placeholder) => {
      const value = values[placeholder];
      if (value === undefined) complete = false;
      return String(value ?? '');
    });
    if (!complete) return null;
    const folder =
      this.#folder === undefined
        ? dirname(input.filename)
        : join(this.#folder, dirname(input.kept));
    return join(folder, name);
  }
}
