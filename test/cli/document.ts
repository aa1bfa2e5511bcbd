import type { BatchResult, FileRecord } from '../../src/operations/batch/batch-record.ts';
import type { Run } from '../oriel.ts';

/** The one document that `--json` prints. */
export const documentOf = ({ out }: Run): BatchResult => JSON.parse(out) as BatchResult;

/** The records that `--jsonl` prints, in the order of the inputs. */
export function linesOf({ out }: Run): FileRecord[] {
  return out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as FileRecord)
    .sort((left, right) => left.index - right.index);
}

/** What became of each input: its name and its output, its status or its error code. */
export function outcomes(records: readonly FileRecord[]): [string, string][] {
  return records.map(({ inputFilename, status, outputFilename, error }) => [
    inputFilename,
    error?.code ?? (status === 'succeeded' && outputFilename ? outputFilename : status),
  ]);
}
