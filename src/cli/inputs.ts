import { type Dirent, lstatSync, readdirSync, type Stats, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname, extname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { formatOfExtension, IMAGE_EXTENSIONS } from '../images/formats.ts';
import { usageFailure } from './usage.ts';

/** One thing to work on: a file, an image that came on standard input, or an argument that names none. */
export interface Input {
  /** As the user knows it. */
  readonly filename: string;
  /** What to open; for standard input, the bytes themselves. */
  readonly source: { readonly path: string } | { readonly bytes: Uint8Array };
  /** The path below the folder that was walked, or the base name: what `--out` keeps. */
  readonly kept: string;
  /** Why it cannot be worked on, where that shows without opening it. */
  readonly problem?: { readonly code: string; readonly message: string };
  /** Found in a folder, by the ending of a format that is not read: skipped unless `strict`. */
  readonly optional?: boolean;
  /** The result itself, where the argument was no file but a question such as a size to be mapped. */
  readonly answer?: object;
}

export interface InputFlags {
  readonly recursive?: boolean | undefined;
  /** Whether files in folders fail where their format is not read. */
  readonly strict?: boolean | undefined;
  /** A file with one path a line (or NUL between them), or `-`. */
  readonly filesFrom?: string | undefined;
  /** A folder whose content is never input: the one that outputs go to. */
  readonly exclude?: string | undefined;
  /** Bytes above which an image on standard input is too large, so that no more need be read. */
  readonly fileBytes?: number | undefined;
  /** Answers an argument that names no file, or undefined. */
  readonly answer?: (argument: string) => object | undefined;
}

const STANDARD_INPUT = '-';

/** An argument that is not a file on disk but looks like a pattern. */
const PATTERN = /[*?[\]{}!]|[@+]\(/;

function byCodePoint(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/**
 * Reads standard input, whatever that is. Not by its descriptor: a pipe that does not block has
 * nothing to give while the program before it is still at work.
 *
 * @param enough bytes after which the rest is not worth reading
 */
async function readStandardInput(enough = Number.POSITIVE_INFINITY): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > enough) break;
  }
  return Buffer.concat(chunks);
}

async function reading<Content>(what: string, content: () => Promise<Content>): Promise<Content> {
  try {
    return await content();
  } catch (error) {
    throw usageFailure(`${what} cannot be read: ${(error as Error).message}`);
  }
}

async function listedPaths(filesFrom: string): Promise<string[]> {
  const content = await reading(`--files-from ${filesFrom}`, () =>
    filesFrom === STANDARD_INPUT ? readStandardInput() : readFile(filesFrom),
  );
  // Editors on Windows mark UTF-8 with a byte order mark.
  const text = content.toString('utf8').replace(/^\ufeff/, '');
  // NUL, as `find -print0` writes, is the one separator that no file name can hold.
  const lines = text.includes('\0') ? text.split('\0') : text.split(/\r?\n/);
  return lines.filter((line) => line !== '');
}

function fileInput(path: string, kept: string): Input {
  // Node reads names as UTF-8 and replaces what is not: such a name leads nowhere any more.
  if (path.includes('\ufffd') && statOf(path) === null) {
    return problemInput(path, 'not_found', 'no such file: its name is not UTF-8');
  }
  return { filename: path, source: { path }, kept };
}

function problemInput(filename: string, code: string, message: string): Input {
  return {
    filename,
    source: { path: filename },
    kept: basename(filename),
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
    let is = linked.get(folder);
    if (is === undefined) {
      is = lstatSync(folder).isSymbolicLink() || isLinked(dirname(folder));
      linked.set(folder, is);
    }
    return is;
  };
  // As in a shell, `**` goes through no link: it could lead anywhere, and back here.
  const taken = pattern.includes('**')
    ? found.filter((path) => !isLinked(dirname(resolve(path))))
    : found;
  return taken.sort(byCodePoint);
}

/** The images in a folder and in those below it, and the folders that may not be read. */
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
      const kept = join(below, name);
      if (entry.isDirectory()) visit(kept);
      else if (isImageName(name) && isFile(entry, join(path, name))) {
        const optional = !strict && formatOfExtension(extname(name).slice(1)) === null;
        found.push({ ...fileInput(join(folder, kept), kept), optional });
      }
    }
  };
  visit('');
  return found.sort((left, right) => byCodePoint(left.filename, right.filename));
}

function isImageName(name: string): boolean {
  return IMAGE_EXTENSIONS.includes(extname(name).slice(1).toLowerCase());
}

/** A link counts as what it leads to, but not as a folder, for that could be one that holds it. */
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

function isInside(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** Null where there is nothing, undefined where that cannot be told. */
function statOf(path: string): Stats | null | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false }) ?? null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return null;
    // A name too long or a folder that we may not enter: opening it will say so.
    return undefined;
  }
}

async function expand(
  argument: string,
  { recursive = false, strict = false, exclude, answer }: InputFlags,
): Promise<Input[]> {
  // Outputs of an earlier run are no inputs, unless the very folder that was named holds them.
  const fresh = (root: string, inputs: Input[]) => {
    const outputs = exclude === undefined ? undefined : resolve(exclude);
    if (outputs === undefined || isInside(outputs, resolve(root))) return inputs;
    return inputs.filter(({ filename }) => !isInside(outputs, resolve(filename)));
  };
  // A file whose name holds special characters is itself before it is a pattern.
  const stat = statOf(argument);
  const answered = stat === null ? answer?.(argument) : undefined;
  if (answered) return [{ ...fileInput(argument, argument), answer: answered }];
  if (stat?.isDirectory()) {
    if (recursive) return fresh(argument, walk(argument, strict));
    return [problemInput(argument, 'is_directory', 'a folder; --recursive takes the images in it')];
  }
  if (!stat && PATTERN.test(argument)) {
    const base = resolve(baseOf(argument));
    const found = await glob(argument, base);
    const kept = (path: string) =>
      recursive && isInside(base, resolve(path)) ? relative(base, path) : basename(path);
    if (found.length > 0) {
      return fresh(
        base,
        found.map((path) => fileInput(path, kept(path))),
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
 * Finds what a command's arguments stand for, in the order given and each file once.
 *
 * @throws Failure with code `usage` where the arguments make no sense together
 */
export async function findInputs(given: readonly string[], flags: InputFlags): Promise<Input[]> {
  const { filesFrom, fileBytes } = flags;
  if (given.includes(STANDARD_INPUT)) {
    if (given.length > 1 || filesFrom !== undefined)
      throw usageFailure('- stands for one image and goes alone');
    if (process.stdin.isTTY)
      throw usageFailure('- reads an image from standard input, which is a terminal');
    const bytes = await reading('standard input', () => readStandardInput(fileBytes));
    // Copied out, since the bytes are moved to a thread and a Buffer may share its memory.
    return [{ filename: STANDARD_INPUT, source: { bytes: new Uint8Array(bytes) }, kept: 'stdin' }];
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
