import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BatchResult, FileRecord } from '../src/operations/batch/batch-record.ts';
import type { Run } from './oriel.ts';
import { decode, type Pixels } from './pixels.ts';
import { residentCommand } from './resident.ts';

const oriel = residentCommand();

/** Result of one run of an image command: its JSON document and its outputs. */
export interface Batch {
  readonly code: number | null;
  readonly stderr: string;
  readonly result: BatchResult;
  /** Record of the file with this name. */
  record(name: string): FileRecord;
  /** Output of the file with this name. */
  bytes(name: string): Buffer;
  pixels(name: string): Promise<Pixels>;
  /** Outputs of some files with the names of the files. */
  decoded(files: Files | readonly string[]): Promise<readonly (readonly [string, Pixels])[]>;
  /** Codes of the file's warnings. */
  warnings(name: string): string[];
}

/** Commands that report and write no files. */
const REPORTS = new Set(['hash', 'metadata', 'palette', 'placeholder', 'size-map']);

export type Files = Readonly<Record<string, Uint8Array>>;

/** Runs the command over all files, in a temporary folder. */
export async function runBatch(args: readonly string[], files: Files): Promise<Batch> {
  const folder = mkdtempSync(join(tmpdir(), 'oriel-test-'));
  try {
    const inputs = join(folder, 'in');
    mkdirSync(inputs);
    for (const [name, bytes] of Object.entries(files)) writeFileSync(join(inputs, name), bytes);
    const out = REPORTS.has(args[0]!) ? [] : ['--out', join(folder, 'out')];
    // For a few small files, starting another thread takes longer than it saves.
    const jobs = Object.keys(files).length > 4 ? [] : ['--jobs', '1'];
    const run = await oriel([...args, ...out, ...jobs, '--json', '--files-from', '-'], {
      cwd: inputs,
      input: Object.keys(files).join('\n'),
    });
    if (run.out === '')
      throw new Error(`oriel ${args.join(' ')} printed no document, but: ${run.stderr}`);
    return readBatch(run);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readBatch({ code, stderr, out }: Run): Batch {
  const result = JSON.parse(out) as BatchResult;
  const records = new Map(result.results.map((record) => [record.inputFilename, record]));
  const outputs = new Map(
    result.results.flatMap(({ inputFilename, outputFilename }) =>
      outputFilename === undefined ? [] : [[inputFilename, readFileSync(outputFilename)]],
    ),
  );
  const record = (name: string) => {
    const found = records.get(name);
    if (!found) throw new Error(`no record of ${name} in ${out}`);
    return found;
  };
  const bytes = (name: string) => {
    const output = outputs.get(name);
    const { error } = record(name);
    if (!output) throw new Error(`${name} has no output: ${error?.code}: ${error?.message}`);
    return output;
  };
  return {
    code,
    stderr,
    result,
    record,
    bytes,
    pixels: (name) => decode(bytes(name)),
    decoded: (files) => {
      const names = Array.isArray(files) ? (files as string[]) : Object.keys(files);
      return Promise.all(names.map(async (name) => [name, await decode(bytes(name))] as const));
    },
    warnings: (name) => (record(name).warnings ?? []).map((warning) => warning.code),
  };
}

/** Runs the command over one file that must succeed, and decodes its output. */
export async function runOne(
  args: readonly string[],
  bytes: Uint8Array,
  name = 'image.png',
): Promise<Pixels & { readonly warnings: string[]; readonly bytes: Buffer }> {
  const batch = await runBatch(args, { [name]: bytes });
  return {
    ...(await batch.pixels(name)),
    warnings: batch.warnings(name),
    bytes: batch.bytes(name),
  };
}
