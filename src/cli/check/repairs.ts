import { linkSync, unlinkSync } from 'node:fs';
import { extname } from 'node:path';
import { FORMATS, type OutputFormat } from '../../images/formats.ts';
import { getOrInsert } from '../../maps.ts';
import { findOperation } from '../../operations/registry.ts';
import type { Inspection } from '../../operations/tools/inspect.ts';
import { runImageCommand } from '../batch/image-run.ts';
import type { Flags } from '../command/command.ts';
import { type Finding, formatOfName, type Rules } from './rules.ts';

/** How a file is repaired. */
interface Fix {
  /** Command that does it, with its flags; null where only the name is wrong. */
  readonly operation: 'resize' | 'convert' | 'optimize' | 'edit-metadata' | null;
  readonly options: Flags;
  /** Path before the command runs, with the extension of the content unless that is converted. */
  readonly source: string;
  /** Path of the repaired file. */
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
  { format, width, height, metadata, ssim }: Inspection,
  rules: Rules,
  findings: readonly Finding[],
  former: string | undefined,
): Fix | null {
  const has = (name: string) => findings.some(({ rule }) => rule === name);
  const to = has('formats') ? rules.formats![0]! : format;
  if (width === undefined || height === undefined || !(to in FORMATS)) return null;
  const { maxBytes, maxWidth = width, maxHeight = height, maxPixels = Number.MAX_VALUE } = rules;
  const pixels = Math.sqrt((maxPixels / (width * height)) * 1e6);
  const scale = Math.min(1, maxWidth / width, maxHeight / height, pixels);
  const side = (length: number) => Math.max(1, Math.floor(length * scale));
  const reference = ssim !== undefined && has('min-ssim') ? former : undefined;
  const options = {
    ...(scale < 1 && { width: side(width), height: side(height) }),
    ...((to !== format || reference !== undefined) && { format: to }),
    ...(reference === undefined && has('max-bytes') && { targetSize: `${maxBytes}B` }),
    ...(reference !== undefined && { targetSsim: rules.minSsim }),
  };
  const path = withExtensionOf(file, to);
  const fix = { source: to === format ? path : file, path, options, reference };
  if (scale < 1) return { ...fix, operation: 'resize' };
  if (to !== format) return { ...fix, operation: 'convert' };
  if (reference !== undefined || has('max-bytes')) return { ...fix, operation: 'optimize' };
  if (metadata.length > 0 && EDITABLE.includes(format))
    return { ...fix, operation: 'edit-metadata', options: { strip: [metadata.join(',')] } };
  // The default quality loses more than a second encoding may.
  const encoding = { format, ...(format === 'avif' && { quality: 80 }) };
  if (metadata.length > 0) return { ...fix, operation: 'convert', options: encoding };
  return has('extension') ? { ...fix, operation: null } : null;
}

/** A path that is no flag. */
export const asPath = (path: string) => (path.startsWith('-') ? `./${path}` : path);

/** Repairs files and notes what fails. Files with equal flags share a run. @param shared flags of every run */
export async function repair(broken: readonly Checked[], shared: Flags): Promise<void> {
  const groups = new Map<string, Checked[]>();
  for (const one of broken) {
    const { operation, options, source, path, reference } = one.fix!;
    try {
      if (source !== one.file) rename(one.file, source);
    } catch (error) {
      one.failure = (error as Error).message;
      continue;
    }
    const key = JSON.stringify([operation, options, reference && path, path === source]);
    getOrInsert(groups, key, () => []).push(one);
  }
  for (const group of groups.values()) {
    try {
      await repairAlike(group, shared);
    } catch (error) {
      for (const one of group) one.failure = (error as Error).message;
    }
  }
}

/** Renames a file, but replaces none. */
function rename(from: string, to: string): void {
  linkSync(from, to);
  unlinkSync(from);
}

async function repairAlike(group: readonly Checked[], shared: Flags): Promise<void> {
  const { operation, options, source, path, reference } = group[0]!.fix!;
  if (operation === null) return;
  const files = reference === undefined ? group.map(({ fix }) => asPath(fix!.source)) : [reference];
  const target = reference === undefined ? {} : { out: path };
  const flags = { ...shared, ...options, ...target, overwrite: path === source };
  const add = async ({ index, error }: { index: number; error?: { message: string } }) => {
    if (error) group[index]!.failure = error.message;
  };
  const reportOf = () => ({ add, finish: async () => {} });
  await runImageCommand(findOperation(operation)!, files, flags, { reportOf });
  for (const { fix, failure } of group)
    if (path !== source && failure === undefined) unlinkSync(fix!.source);
}
