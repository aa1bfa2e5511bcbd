import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Server } from './server.ts';
import { curl } from './trial.ts';

const execute = promisify(execFile);

/** Measurements of one request. */
export interface Answer {
  /** Time from the first byte sent to the last byte received. */
  readonly seconds: number;
  /** Bytes of the ZIP. */
  readonly bytes: number;
}

export interface BatchRequest {
  readonly key: string;
  readonly files: readonly string[];
  /** Path for the ZIP. */
  readonly output: string;
}

/** Options of the conversion in every case here, over HTTP and on the command line. */
export const QUALITY = '80';

/**
 * Converts files to WebP over HTTP, by a client (curl) that uses hardly any CPU.
 *
 * @throws if the response is not a whole ZIP with an image for each file
 */
export async function convert(server: Server, request: BatchRequest): Promise<Answer> {
  const { files, output } = request;
  const options = ['--write-out', '%{http_code} %{time_pretransfer} %{time_total}'];
  options.push('--form', 'format=webp', '--form', `quality=${QUALITY}`);
  const { stdout } = await execute(curl.file!, [...options, ...argumentsOf(server, request)]);
  const [status, begun, ended] = stdout.split(' ').map(Number);
  if (status !== 200) throw new Error(`a batch was answered ${status}`);
  const { entries, bytes } = zipOf(output);
  if (entries !== files.length + 1) {
    throw new Error(`expected ${files.length} images and a manifest, received ${entries} files`);
  }
  return { seconds: ended! - begun!, bytes };
}

/**
 * Converts files to PNG over HTTP, which is large and quick, and does not read the ZIP until the signal aborts.
 * curl's own rate limit would slow the upload down too.
 */
export async function dawdle(
  server: Server,
  request: Omit<BatchRequest, 'output'>,
  signal: AbortSignal,
): Promise<void> {
  const options = ['--form', 'format=png', ...argumentsOf(server, { ...request, output: '-' })];
  const client = spawn(curl.file!, options, { stdio: ['ignore', 'pipe', 'ignore'] });
  const closed = once(client, 'exit');
  const end = () => client.kill('SIGKILL');
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  await closed;
  client.stdout.destroy();
  if (!signal.aborted) throw new Error('a slow reader was cut off');
}

function argumentsOf(server: Server, { key, files, output }: BatchRequest): string[] {
  return [
    ...['--silent', '--show-error', '--output', output],
    ...['--header', `Authorization: Bearer ${key}`, '--header', 'Expect:'],
    ...files.flatMap((file) => ['--form', `files=@${file}`]),
    `${server.url}/api/free/batch-convert-images`,
  ];
}

/** Bytes of the record at the end of a ZIP without a comment. */
const END_RECORD = 22;

/** Number of files in the record at the end of a ZIP; a truncated one has no such record. */
function zipOf(file: string): { entries: number; bytes: number } {
  const descriptor = openSync(file, 'r');
  try {
    const bytes = fstatSync(descriptor).size;
    const end = Buffer.alloc(END_RECORD);
    readSync(descriptor, end, 0, END_RECORD, Math.max(0, bytes - END_RECORD));
    if (end.readUInt32LE(0) !== 0x06054b50) throw new Error('the ZIP has no end');
    return { entries: end.readUInt16LE(10), bytes };
  } finally {
    closeSync(descriptor);
  }
}
