import { printableJson } from '../../operations/batch/filename.ts';

/** JSON on one line, without characters that control a terminal. */
export function jsonText(value: object): string {
  return printableJson(JSON.stringify(value));
}
