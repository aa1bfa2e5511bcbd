import { statSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { formatOfExtension, type OutputFormat, outputExtension } from '../images/formats.ts';
import type { Input } from './inputs.ts';
import { usageFailure } from './usage.ts';
import { existsFailure } from './writer.ts';

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
  if (/[/\\]/.test(template)) {
    throw usageFailure('--name: expected a file name, received a path; --out names the folder');
  }
}

/** Names that differ only in case, or in Unicode form, are one file to these systems. */
function identity(path: string): string {
  const folds = process.platform === 'darwin' || process.platform === 'win32';
  return folds ? resolve(path).normalize('NFC').toLowerCase() : resolve(path);
}

/** The output format that `--out photo.webp` asks for. */
export function formatOfPath(path: string | undefined): OutputFormat | null {
  return path === undefined ? null : formatOfExtension(extname(path).slice(1));
}

/** The path of each output, known before the work where the template allows, and claimed once. */
export class OutputNames {
  readonly #template: string;
  readonly #folder: string | undefined;
  /** Set where `--out` names the one output itself. */
  readonly #file: string | undefined;
  /** Which input has which output. */
  readonly #owners = new Map<string, string>();

  /** @throws Failure with code `usage` for a template that makes no sense */
  constructor({ out, name = '{name}.{ext}' }: NamingFlags, inputs: readonly Input[]) {
    checkTemplate(name);
    this.#template = name;
    const isFile =
      inputs.length === 1 &&
      formatOfPath(out) !== null &&
      statSync(out!, { throwIfNoEntry: false })?.isDirectory() !== true;
    this.#file = isFile ? out : undefined;
    this.#folder = out;
  }

  /**
   * Claims an output before any work.
   *
   * @param index from 0
   * @param format the format asked for, if any
   * @returns null where the template needs what only the decoded image tells
   * @throws Failure with code `usage` where another input has this output
   */
  predict(input: Input, index: number, format: OutputFormat | undefined): string | null {
    const path = this.#path(input, index, format ? { format } : {});
    if (path === null) return null;
    const owner = this.#claim(path, input);
    if (owner !== null) {
      throw usageFailure(
        `${owner} and ${input.filename} would both be written to ${path}; --recursive keeps folders apart below --out, and --name '{name}-{index}.{ext}' numbers the files`,
      );
    }
    return path;
  }

  /**
   * The path of an output that is ready to be written.
   *
   * @throws Failure with code `output_exists` where another input of this batch has it
   */
  resolve(input: Input, index: number, facts: OutputFacts): string {
    const path = this.#path(input, index, facts)!;
    if (this.#claim(path, input) !== null) throw existsFailure(path);
    return path;
  }

  /** The input that holds the path already, or null when it is now this one's. */
  #claim(path: string, { filename }: Input): string | null {
    const key = identity(path);
    const owner = this.#owners.get(key);
    if (owner !== undefined && owner !== filename) return owner;
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
