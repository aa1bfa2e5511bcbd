import { printableJson } from '../operations/filename.ts';

/** JSON on one line, without characters that control a terminal. */
export function jsonText(value: object): string {
  return printableJson(JSON.stringify(value));
}
