import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Server } from './server.ts';
import { curl } from './trial.ts';

const execute = promisify(execFile);

/** What one request cost its client. */
export interface Answer {
  /** From the first byte sent to the last byte received. */
  readonly seconds: number;
  /** Of the ZIP. */
  readonly bytes: number;
}

export interface BatchRequest {
  readonly key: string;
  readonly files: readonly string[];
  /** Where the ZIP goes. */
  readonly output: string;
}

/** How photographs are converted in every case here, over HTTP and on the command line. */
export const QUALITY = '80';

/**
 * Sends files to be converted to WebP, by a client that costs next to nothing itself.
 *
 * @throws where the answer is not a whole ZIP with an image for each file
 */
export async function convert(server: Server, request: BatchRequest): Promise<Answer> {
  const { files, output } = request;
  const written = ['--write-out', '%{http_code} %{time_pretransfer} %{time_total}'];
  const fields = ['--form', 'format=webp', '--form', `quality=${QUALITY}`];
  const { stdout } = await execute(curl.file!, [
    ...written,
    ...fields,
    ...argumentsOf(server, request),
  ]);
  const [status, begun, ended] = stdout.split(' ').map(Number);
  if (status !== 200) throw new Error(`a batch was answered ${status}`);
  const { entries, bytes } = zipOf(output);
  if (entries !== files.length + 1) {
    throw new Error(`expected ${files.length} images and a manifest, received ${entries} files`);
  }
  return { seconds: ended! - begun!, bytes };
}

/**
 * Sends files to be converted to PNG, which is large and soon done, and takes nothing of the ZIP until
 * the signal ends it. curl's own limit would slow the sending down too.
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
    `${server.url}/api/free/${ENDPOINT}`,
  ];
}

const ENDPOINT = 'batch-convert-images';
/** Bytes of the record at the end of a ZIP without a comment. */
const END_RECORD = 22;

/** How many files a ZIP says it has, at its end: one that was cut short says nothing there. */
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
