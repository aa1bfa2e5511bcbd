import { linkSync, unlinkSync } from 'node:fs';
import { extname } from 'node:path';
import { FORMATS, type OutputFormat } from '../../images/formats.ts';
import { printable } from '../../operations/batch/filename.ts';
import { findOperation } from '../../operations/registry.ts';
import type { Inspection } from '../../operations/tools/inspect.ts';
import { runImageCommand } from '../batch/image-run.ts';
import { type Flags, flagOf } from '../command/command.ts';
import { type Finding, formatOfName, type Rules, wanted } from './rules.ts';

/** How a file is repaired. */
export interface Fix {
  /** Command that does it, with its flags; null where only the name is wrong. */
  readonly operation: 'resize' | 'convert' | 'optimize' | 'edit-metadata' | null;
  readonly options: Flags;
  /** Path with the extension of the content, and that of the repaired file. */
  readonly named: string;
  readonly path: string;
  /** Path of the former version, where that is the input. */
  readonly reference?: string | undefined;
}

/** A file that was checked. */
export interface Checked {
  readonly file: string;
  /** Bytes: now, of the former version, and after optimising. */
  readonly size: number;
  readonly before?: number;
  readonly optimized?: number;
  readonly format?: string;
  readonly width?: number | undefined;
  readonly height?: number | undefined;
  readonly findings: readonly Finding[];
  readonly fix?: Fix;
  /** The command line that repairs it. */
  readonly command?: string;
  /** Whether the findings are about outputs of the recipe. */
  readonly recipe?: true;
  fixed?: boolean;
  /** Why it could not be repaired. */
  failure?: string;
}

/** Formats whose metadata can be changed without encoding pixels anew. */
const EDITABLE = ['jpeg', 'png', 'webp'];

function withExtensionOf(path: string, format: string): string {
  if (formatOfName(path) === format) return path;
  const [extension] = FORMATS[format as OutputFormat].extensions;
  return `${path.slice(0, path.length - extname(path).length)}.${extension}`;
}

/** What repairs a file; null where nothing does. @param former path of the former version */
export function fixOf(
  file: string,
  facts: Inspection,
  rules: Rules,
  findings: readonly Finding[],
  former: string | undefined,
): Fix | null {
  const { format, width, height, metadata, ssim } = facts;
  const has = (name: string) => findings.some(({ rule }) => rule === name);
  const to = has('formats') ? wanted(rules)[0]! : format;
  if (width === undefined || height === undefined) return null;
  if (!(format in FORMATS && to in FORMATS)) return null;
  const { maxBytes, maxWidth = width, maxHeight = height, maxPixels = Number.MAX_VALUE } = rules;
  const pixels = Math.sqrt((maxPixels / (width * height)) * 1e6);
  const scale = Math.min(1, maxWidth / width, maxHeight / height, pixels);
  const side = (length: number) => Math.max(1, Math.floor(length * scale));
  const reference = ssim !== undefined && has('min-ssim') ? former : undefined;
  const encoding = {
    ...(scale < 1 && { width: side(width), height: side(height) }),
    ...((to !== format || reference !== undefined) && { format: to }),
    ...(reference === undefined && has('max-bytes') && { targetSize: `${maxBytes}B` }),
    ...(reference !== undefined && { targetSsim: rules.minSsim }),
  };
  const named = withExtensionOf(file, format);
  const fix = { named, path: withExtensionOf(file, to), options: encoding, reference };
  if (scale < 1) return { ...fix, operation: 'resize' };
  if (to !== format) return { ...fix, operation: 'convert' };
  if (reference !== undefined || has('max-bytes')) return { ...fix, operation: 'optimize' };
  if (metadata.length > 0 && EDITABLE.includes(format))
    return { ...fix, operation: 'edit-metadata', options: { strip: [metadata.join(',')] } };
  // The default quality loses more than a second encoding may.
  const options = { format, ...(format === 'avif' && { quality: 80 }) };
  if (metadata.length > 0) return { ...fix, operation: 'convert', options };
  return has('extension') ? { ...fix, operation: null } : null;
}

/**
 * A word of a shell's command line. Bash, zsh and ksh read `$'…'`, which control characters need. GitHub Actions would
 * read `##[` as a command.
 */
function quoted(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  const escaped = printable(word.replaceAll('\\', '\\\\')).replaceAll("'", "\\'");
  if (printable(word) !== word) return `$'${escaped.replaceAll('##[', '#\\x23[')}'`;
  return `'${word.replaceAll("'", "'\\''").replaceAll('##[', "#''#[")}'`;
}

/** A path that is no flag, and that GitHub Actions does not read as a command. */
export const asPath = (path: string) => (/^[-:]/.test(path) ? `./${path}` : path);

/** A command line of Oriel. */
export const commandLine = (words: readonly string[]) => ['oriel', ...words].map(quoted).join(' ');

const flagWords = (flags: Flags) =>
  Object.entries(flags).flatMap(([name, value]) =>
    value === undefined ? [] : [flagOf(name), String(value)],
  );

/** The command line that repairs a file. @param former name of the former version for Git */
export function commandOf(
  file: string,
  { operation, options, path, named, reference }: Fix,
  { against: _, minSsim: __, recipe, sources, out, ...rules }: Rules,
  former: string | undefined,
): string {
  if (operation === null || named !== file || path !== file)
    return commandLine(['check', '--fix', ...flagWords(rules), asPath(file)]);
  const words = [operation, ...flagWords(options), '--overwrite'];
  if (reference === undefined) return commandLine([...words, asPath(file)]);
  const source = former === undefined ? asPath(reference) : '-';
  const command = commandLine([...words, '--out', asPath(file), source]);
  return former === undefined ? command : `git show ${quoted(former)} | ${command}`;
}

/** Repairs files and notes what fails. Files with equal flags share a run. @param shared flags of every run */
export async function repair(broken: readonly Checked[], shared: Flags): Promise<void> {
  const groups = new Map<string, Checked[]>();
  for (const one of broken) {
    const { operation, options, named, path, reference } = one.fix!;
    try {
      // As a link, which replaces no file.
      if (named !== one.file) linkSync(one.file, named);
      if (named !== one.file) unlinkSync(one.file);
    } catch (error) {
      one.failure = (error as Error).message;
    }
    const key = JSON.stringify([operation, options, reference && path, path === named]);
    if (operation !== null && !one.failure) groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  for (const group of groups.values()) {
    const { operation, options, named, path, reference } = group[0]!.fix!;
    const files =
      reference === undefined ? group.map(({ fix }) => asPath(fix!.named)) : [reference];
    const target = reference === undefined ? {} : { out: path };
    const flags = { ...shared, ...options, ...target, overwrite: path === named };
    const add = async ({ index, error }: { index: number; error?: { message: string } }) => {
      if (error) group[index]!.failure = error.message;
    };
    try {
      const reportOf = () => ({ add, finish: async () => {} });
      await runImageCommand(findOperation(operation!)!, files, flags, { reportOf });
      for (const { fix, failure } of group)
        if (path !== named && failure === undefined) unlinkSync(fix!.named);
    } catch (error) {
      for (const one of group) one.failure = (error as Error).message;
    }
  }
}
