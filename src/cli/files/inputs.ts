import { type Dirent, lstatSync, readdirSync, type Stats, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname, extname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { IMAGE_EXTENSIONS, READABLE_EXTENSIONS } from '../../images/formats.ts';
import type { TextVariables } from '../../images/input.ts';
import { getOrInsert } from '../../maps.ts';
import { usageFailure } from '../command/command.ts';
import { readStandardInput } from '../terminal/terminal.ts';

/** An input: a file, an image from standard input, or an argument that names no file. */
export interface Input {
  /** The path as the user gave it. */
  readonly filename: string;
  /** The path to open, or the bytes of standard input. */
  readonly source: { readonly path: string } | { readonly bytes: Uint8Array };
  /** Path below `--out`: that below the folder that was walked, or the base name. */
  readonly relativePath: string;
  /** Error that is known without opening the file. */
  readonly problem?: { readonly code: string; readonly message: string };
  /** Found in a folder by the extension of a format that is not read: skipped unless `strict`. */
  readonly optional?: boolean;
  /** The result, where the argument is no file but a value such as a size to map. */
  readonly answer?: object;
  /** Properties that the options refer to. */
  readonly variables?: Partial<TextVariables>;
}

export interface InputFlags {
  readonly recursive?: boolean | undefined;
  /** Files in folders whose format is not read fail instead of being skipped. */
  readonly strict?: boolean | undefined;
  /** A file with one path a line (or NUL between them), or `-`. */
  readonly filesFrom?: string | undefined;
  /** Folders whose files are not inputs: those of outputs and of the cache. */
  readonly exclude?: readonly (string | undefined)[];
  /** Maximum bytes of an image on standard input; no more is read. */
  readonly fileBytes?: number | undefined;
  /** The result for an argument that names no file; undefined where it is none of the operation's. */
  readonly answer?: (argument: string) => object | undefined;
}

const STANDARD_INPUT = '-';

/** Characters of a glob pattern. */
const PATTERN = /[*?[\]{}!]|[@+]\(/;

function byCodePoint(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

async function orUsageFailure<Content>(
  what: string,
  read: () => Promise<Content>,
): Promise<Content> {
  try {
    return await read();
  } catch (error) {
    const reason = (error as Error).message.replace(/^E[A-Z]+: |, (open|read)( .*)?$/g, '');
    throw usageFailure(`${what} cannot be read: ${reason}`);
  }
}

export async function listedPaths(filesFrom: string): Promise<string[]> {
  const content = await orUsageFailure(`--files-from ${filesFrom}`, () =>
    filesFrom === STANDARD_INPUT ? readStandardInput() : readFile(filesFrom),
  );
  // Editors on Windows mark UTF-8 with a byte order mark.
  const text = content.toString('utf8').replace(/^\ufeff/, '');
  // NUL, which `find -print0` writes, is the only separator that no file name can contain.
  const lines = text.includes('\0') ? text.split('\0') : text.split(/\r?\n/);
  return lines.filter((line) => line !== '');
}

function fileInput(path: string, relativePath: string): Input {
  // Node reads names as UTF-8 and replaces invalid bytes: such a name can no longer be opened.
  if (path.includes('\ufffd') && statOf(path) === null) {
    return problemInput(path, 'not_found', 'its name is not UTF-8; rename the file');
  }
  return { filename: path, source: { path }, relativePath };
}

function problemInput(filename: string, code: string, message: string): Input {
  return {
    filename,
    source: { path: filename },
    relativePath: basename(filename),
    problem: { code, message },
  };
}

async function glob(pattern: string, base: string): Promise<string[]> {
  const { glob: find } = await import('tinyglobby');
  const found = await find(pattern, {
    absolute: isAbsolute(pattern),
    onlyFiles: true,
    dot: false,
    expandDirectories: false,
    caseSensitiveMatch: false,
  });
  const linked = new Map<string, boolean>();
  const isLinked = (folder: string): boolean => {
    if (!isInside(base, folder) || folder === base) return false;
    return getOrInsert(
      linked,
      folder,
      () => lstatSync(folder).isSymbolicLink() || isLinked(dirname(folder)),
    );
  };
  // As in a shell, `**` follows no link, which could lead anywhere, and back here.
  const matches = pattern.includes('**')
    ? found.filter((path) => !isLinked(dirname(resolve(path))))
    : found;
  return matches.sort(byCodePoint);
}

/** The images in a folder and its subfolders, and an input with an error for each unreadable one. */
function walk(folder: string, strict: boolean): Input[] {
  const found: Input[] = [];
  const visit = (below: string) => {
    const path = join(folder, below);
    let entries: Dirent[];
    try {
      entries = readdirSync(path, { withFileTypes: true });
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      const reason = code === 'EACCES' ? 'permission denied' : message;
      found.push(problemInput(path, 'read_failed', `cannot be read: ${reason}`));
      return;
    }
    for (const entry of entries) {
      const { name } = entry;
      if (name.startsWith('.')) continue;
      const relativePath = join(below, name);
      if (entry.isDirectory()) visit(relativePath);
      else if (isImageName(name) && isFile(entry, join(path, name))) {
        const optional =
          !strict && !READABLE_EXTENSIONS.includes(extname(name).slice(1).toLowerCase());
        found.push({ ...fileInput(join(folder, relativePath), relativePath), optional });
      }
    }
  };
  visit('');
  return found.sort((left, right) => byCodePoint(left.filename, right.filename));
}

function isImageName(name: string): boolean {
  return IMAGE_EXTENSIONS.includes(extname(name).slice(1).toLowerCase());
}

/** Follows a link to a file, but not to a folder, which could contain the link. */
function isFile(entry: Dirent, path: string): boolean {
  return entry.isFile() || (entry.isSymbolicLink() && (statOf(path)?.isFile() ?? true));
}

/** The part of a pattern before its first special character, as a folder. */
function baseOf(pattern: string): string {
  const segments = pattern.split('/');
  const first = segments.findIndex((segment) => PATTERN.test(segment));
  const base = segments.slice(0, first).join('/');
  return base === '' && pattern.startsWith('/') ? '/' : base || '.';
}

/** The folder below which a pattern's files are; null for an argument that is no pattern. */
export function patternBase(argument: string): string | null {
  return PATTERN.test(argument) ? baseOf(argument) : null;
}

export function isInside(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** Null where the file does not exist; undefined where `stat` fails. */
export function statOf(path: string): Stats | null | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false }) ?? null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return null;
    // The name is too long, or a folder may not be entered: opening it will report that.
    return undefined;
  }
}

async function expand(
  argument: string,
  { recursive = false, strict = false, exclude = [], answer }: InputFlags,
): Promise<Input[]> {
  // Outputs of an earlier run are no inputs, unless the argument is in the output folder.
  const withoutOutputs = (root: string, inputs: Input[]) => {
    const folders = exclude
      .filter((folder) => folder !== undefined)
      .map((folder) => resolve(folder))
      .filter((folder) => !isInside(folder, resolve(root)));
    return inputs.filter(({ filename }) => {
      const path = resolve(filename);
      return !folders.some((folder) => isInside(folder, path));
    });
  };
  // An existing file takes precedence over a pattern.
  const stat = statOf(argument);
  const result = stat === null ? answer?.(argument) : undefined;
  if (result) return [{ ...fileInput(argument, argument), answer: result }];
  if (stat?.isDirectory()) {
    if (recursive) return withoutOutputs(argument, walk(argument, strict));
    return [problemInput(argument, 'is_directory', 'a folder; --recursive takes the images in it')];
  }
  if (!stat && PATTERN.test(argument)) {
    const base = resolve(baseOf(argument));
    const found = await glob(argument, base);
    const relativePath = (path: string) =>
      recursive && isInside(base, resolve(path)) ? relative(base, path) : basename(path);
    if (found.length > 0) {
      return withoutOutputs(
        base,
        found.map((path) => fileInput(path, relativePath(path))),
      );
    }
    if (stat === null) return [problemInput(argument, 'not_found', 'no file matches')];
  }
  if (stat === null && !argument.includes('\ufffd')) {
    return [problemInput(argument, 'not_found', 'no such file')];
  }
  return [fileInput(argument, basename(argument))];
}

/**
 * Resolves the arguments of a command to inputs, in the given order and each file once.
 *
 * @throws Failure with code `usage` for arguments that exclude each other, or none
 */
export async function findInputs(given: readonly string[], flags: InputFlags): Promise<Input[]> {
  const { filesFrom, fileBytes } = flags;
  if (given.includes(STANDARD_INPUT)) {
    if (given.length > 1 || filesFrom !== undefined)
      throw usageFailure('- reads one image, and cannot be combined with others');
    if (process.stdin.isTTY)
      throw usageFailure('- reads an image from standard input, which is a terminal');
    const bytes = await orUsageFailure('standard input', () => readStandardInput(fileBytes));
    // Copied, because the bytes are moved to a thread and a Buffer may share its memory.
    return [
      { filename: STANDARD_INPUT, source: { bytes: new Uint8Array(bytes) }, relativePath: 'stdin' },
    ];
  }
  if (given.length === 0 && filesFrom === undefined) {
    throw usageFailure(
      'no input: name files, folders with --recursive, quoted patterns, or - for standard input',
    );
  }
  const fromList = filesFrom === undefined ? [] : await listedPaths(filesFrom);
  const inputs = new Map<string, Input>();
  for (const argument of [...given, ...fromList]) {
    for (const input of await expand(argument, flags)) {
      const path = resolve(input.filename);
      if (!inputs.has(path)) inputs.set(path, input);
    }
  }
  return [...inputs.values()];
}
