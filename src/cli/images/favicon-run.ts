import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { poolFor } from '../../operations/pool/pool.ts';
import {
  type FaviconData,
  htmlOf,
  ICO,
  ICON_FILES,
  iconsOf,
  MANIFEST,
} from '../../operations/tools/favicon.ts';
import { isObject } from '../../schema/untrusted.ts';
import { readLimits } from '../batch/image-flags.ts';
import { type CommandInput, readFlags, usageFailure } from '../command/command.ts';
import { existsFailure, Writer } from '../files/writer.ts';
import { noteNativeCode } from '../terminal/exit.ts';
import { print, printJson, printStderr } from '../terminal/terminal.ts';
import { faviconOptions } from './command-flags.ts';

/** Makes the icons of a website from one image. */
export async function runFavicon({ positionals, flags }: CommandInput): Promise<number> {
  const source = String(positionals[0]);
  const options = readFlags(faviconOptions, flags);
  const { out, background, baseUrl, manifest, overwrite, json, quiet } = options;
  const limits = readLimits(flags);
  if (source === '-') throw usageFailure('<source>: expected a file, received standard input');
  const path = (name: string) => join(out, name);
  const names = [ICO, ...ICON_FILES.map(({ name }) => name), ...(manifest ? [MANIFEST] : [])];
  const taken = names.map(path).find((name) => !overwrite && existsSync(name));
  if (taken !== undefined) throw existsFailure(taken);
  const icons = iconsOf(baseUrl);
  const manifestText = manifest ? manifestOf(path(MANIFEST), icons) : null;
  const pool = await poolFor({ milliseconds: 0, files: 1 }, 1);
  try {
    const job = { operation: 'favicon', options: { background }, source: { path: source }, limits };
    const result = await pool.run(job, {});
    if (!result.ok) {
      printStderr(`oriel: ${source}: ${result.error.message} (${result.error.code})`);
      return 1;
    }
    const { ico } = result.data as FaviconData;
    const contents = new Map<string, Uint8Array | string>([
      [ICO, ico],
      ...(result.images ?? []).map((image) => [image.output!.nameTemplate, image.bytes] as const),
      ...(manifestText === null ? [] : [[MANIFEST, manifestText] as const]),
    ]);
    const writer = new Writer({ overwrite });
    for (const [name, content] of contents) {
      await writer.write(path(name), (descriptor) => void writeFileSync(descriptor, content));
    }
    for (const { message } of result.warnings) printStderr(`oriel: ${source}: ${message}`);
    const html = htmlOf(baseUrl, manifest);
    if (json) {
      const files = [...contents].map(([name, content]) => ({
        outputFilename: path(name),
        size: Buffer.byteLength(content),
      }));
      const { warnings } = result;
      await printJson({ inputFilename: source, files, icons, html, warnings });
    } else if (!quiet) await print(`${html}\n`);
    return 0;
  } finally {
    if (pool.abandoned) noteNativeCode();
    else await pool.close();
  }
}

/**
 * The text of the manifest: the one that exists with other icons, else one of icons alone.
 *
 * @throws Failure with code `usage` where the file is no manifest
 */
function manifestOf(path: string, icons: readonly object[]): string {
  let members: unknown = {};
  try {
    if (existsSync(path)) members = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw usageFailure(`${path}: expected a web app manifest, ${(error as Error).message}`);
  }
  if (!isObject(members))
    throw usageFailure(`${path}: expected a web app manifest, which is an object`);
  return `${JSON.stringify({ ...members, icons }, null, 2)}\n`;
}
