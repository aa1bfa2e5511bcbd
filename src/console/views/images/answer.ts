import type {
  FileRecord as BatchRecord,
  OutputRecord,
} from '../../../operations/batch/batch-record.ts';
import { ApiError } from '../../api/request.ts';
import type { Operation } from './operations.ts';
import { readZip, type ZipEntry } from './zip.ts';

/** The result of one file: a record of `results`. */
export interface FileRecord extends Omit<BatchRecord, 'data'> {
  readonly data?: Readonly<Record<string, unknown>>;
}

/** An image that was made. */
export interface Output extends OutputRecord {
  readonly outputFilename: string;
  readonly blob: Blob;
  readonly crc: number;
}

/** What an operation made of one file. */
export interface Outcome {
  readonly outputs: readonly Output[];
  readonly record: FileRecord;
}

const MANIFEST = 'manifest.json';

/**
 * Reads the answer to a batch of one file.
 *
 * @throws ApiError with the code of the file's error
 */
export async function readAnswer(response: Response, gives: Operation['gives']): Promise<Outcome> {
  try {
    if (gives === 'data') return { outputs: [], record: recordOf(await response.text()) };
    const entries = await readZip(await response.blob());
    const manifest = entries.find(({ name }) => name === MANIFEST);
    if (!manifest) throw new Error('its manifest is missing');
    const record = recordOf(await manifest.blob.text());
    return { outputs: outputsOf(record, entries), record };
  } catch (error) {
    if (error instanceof ApiError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new ApiError(`The answer cannot be read: ${reason}. Try again.`, {
      requestId: response.headers.get('x-request-id'),
    });
  }
}

function recordOf(text: string): FileRecord {
  const { results } = JSON.parse(text) as { readonly results?: readonly FileRecord[] };
  const record = results?.[0];
  if (!record) throw new Error('it has no result');
  if (record.error)
    throw new ApiError(record.error.message, { code: record.error.code, status: 200 });
  return record;
}

function outputsOf(record: FileRecord, entries: readonly ZipEntry[]): readonly Output[] {
  const records = record.outputs ?? [record as OutputRecord];
  return records.map((output) => {
    const { outputFilename = '' } = output;
    const entry = entries.find(({ name }) => name === outputFilename);
    if (!entry) throw new Error(`${outputFilename} is missing`);
    const { crc, blob } = entry;
    // The slice takes the type, by which a browser shows it; no bytes are copied.
    return {
      ...output,
      outputFilename,
      crc,
      blob: blob.slice(
        0,
        blob.size,
        output.format === 'svg' ? 'image/svg+xml' : `image/${output.format}`,
      ),
    };
  });
}
