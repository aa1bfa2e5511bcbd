import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { Failure } from '../../failure.ts';
import { sniff } from '../../images/decoding/sniff.ts';
import { FORMATS, OUTPUT_FORMATS } from '../../images/formats.ts';
import { checkFileSize, DEFAULT_LIMITS } from '../../images/limits.ts';
import { printable } from '../../operations/batch/filename.ts';
import { objectOf } from '../../schema/untrusted.ts';
import { type CommandInput, readFlags } from '../command/command.ts';
import { print, printJson, printStderr } from '../terminal/terminal.ts';
import { uploadFlags } from './client-flags.ts';
import type { DaemonClient } from './daemon-client.ts';
import { inSession } from './session.ts';

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'permission denied',
  EISDIR: 'it is a folder',
};

/**
 * Reads a local file as part of a form.
 *
 * @throws Failure where it cannot be read, or is larger than the daemon accepts
 */
export async function fileOf(path: string): Promise<File> {
  try {
    checkFileSize((await stat(path)).size, DEFAULT_LIMITS);
    const bytes = await readFile(path);
    const sniffed = sniff(bytes);
    const known = sniffed && 'format' in sniffed ? sniffed.format : undefined;
    const format = OUTPUT_FORMATS.find((one) => one === known);
    return new File([bytes], basename(path), {
      type: format ? FORMATS[format].mediaType : 'application/octet-stream',
    });
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    throw new Failure('invalid_request', `${path} cannot be sent: ${REASONS[code] ?? message}`, {
      cause: error,
    });
  }
}

/**
 * Uploads a file to the daemon.
 *
 * @returns its URL
 * @throws Failure
 */
export async function uploadFile(client: DaemonClient, path: string): Promise<string> {
  const form = new FormData();
  form.set('file', await fileOf(path));
  const { url } = objectOf(await client.form('/v1/images/upload', form));
  if (typeof url === 'string') return url;
  throw new Failure('service_error', `${client.url}: expected the URL of ${path} in the response`);
}

/** Uploads images and prints their URLs, one a line. One that fails does not stop the others. */
export async function runUpload({ positionals, flags }: CommandInput): Promise<number> {
  const files = positionals[0] as readonly string[];
  const { json } = readFlags(uploadFlags, flags);
  return inSession(flags, async ({ client, signal }) => {
    const uploads: object[] = [];
    let failed = 0;
    for (const file of files) {
      try {
        const url = await uploadFile(client, file);
        uploads.push({ file, url });
        if (!json) await print(`${printable(url)}\n`);
      } catch (error) {
        // Without a daemon or a key, all further uploads would fail as well.
        if (signal.aborted || !(error instanceof Failure) || isGeneral(error)) throw error;
        failed += 1;
        uploads.push({ file, error: { type: error.type, message: error.message } });
        printStderr(`oriel: ${error.message.includes(file) ? '' : `${file}: `}${error.message}`);
      }
    }
    if (json) await printJson({ uploads });
    return failed > 0 ? 1 : 0;
  });
}

function isGeneral({ type, code }: Failure): boolean {
  return type === 'auth_error' || code === 'unreachable';
}
