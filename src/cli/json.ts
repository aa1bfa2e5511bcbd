import { printableJson } from '../operations/filename.ts';

/** JSON on one line, which may land on a terminal. */
export function jsonText(value: object): string {
  return printableJson(JSON.stringify(value));
}
