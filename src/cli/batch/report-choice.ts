import type { Operation } from '../../operations/definition/operation.ts';
import {
  checksumReport,
  failuresReport,
  type Head,
  jsonReport,
  linesReport,
  type Report,
} from '../reports/report.ts';
import { tableReport } from '../reports/table-report.ts';
import { type Choices, STANDARD_STREAM } from './image-choices.ts';

/** Makes the report of a run. */
export type ReportChooser = (operation: Operation, choices: Choices, head: Head) => Report;

/** The report that the flags of a command ask for. */
export function chooseReport(
  {
    gives,
    columns,
    details,
    row,
    checksum,
  }: Pick<Operation, 'gives' | 'columns' | 'details' | 'row' | 'checksum'>,
  { options, run, outputs }: Pick<Choices, 'options' | 'run' | 'outputs'>,
  head: Head,
): Report {
  if (run.json) return jsonReport(head);
  if (run.jsonl) return linesReport(outputs.zip !== undefined);
  if (run.sha256sum && checksum) return checksumReport(checksum);
  const imageOnStandardOutput = outputs.out === STANDARD_STREAM || outputs.zip === STANDARD_STREAM;
  const silent = run.quiet || (gives === 'image' && imageOnStandardOutput);
  return silent
    ? failuresReport()
    : tableReport(gives, columns?.(options), details?.(options), row);
}
