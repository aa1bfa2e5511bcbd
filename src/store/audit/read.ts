import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { diskFiles, type Files, missingAs, namesIn } from '../files.ts';
import {
  type AuditEntry,
  fileName,
  HEAD_FILE,
  type Head,
  hashOfLine,
  isLogFile,
  NO_LINE,
  PRUNE,
  parseEntry,
  parseHead,
} from './entry.ts';

/** An entry of a log, or a sentence about a fault in its hash chain. */
export type AuditItem = { readonly entry: AuditEntry } | { readonly fault: string };

/**
 * Reads the log of a folder from its oldest line and verifies that no line is missing or changed. The
 * log may be written meanwhile: an incomplete last line is ignored.
 */
export async function* readAudit(folder: string): AsyncGenerator<AuditItem, void> {
  // Read before the files: lines that are written meanwhile have higher numbers.
  const head = await readHead(diskFiles, folder);
  const names = (await namesIn(diskFiles, folder)).filter(isLogFile);
  let last = NO_LINE;
  /** Number of lines missing at the beginning, and whether a line records their deletion. */
  let missing = 0;
  let isPruned = false;
  let isHeadSeen = head.number === 0;
  for (const name of names) {
    let isFirst = true;
    for (const { line, isWhole } of await linesOf(join(folder, name))) {
      const entry = parseEntry(line);
      if (!isWhole && name === names.at(-1)) break;
      if (entry === undefined || !isWhole) {
        yield { fault: `${name}: the line after number ${last.number} cannot be read` };
        last = { number: last.number + 1, hash: hashOfLine(line) };
        continue;
      }
      const { number, previous, act, details } = entry;
      if (last === NO_LINE && number > 1 && name === fileName(number)) missing = number - 1;
      else if (number !== last.number + 1) {
        yield { fault: `${name}: number ${number} follows number ${last.number}` };
      } else if (previous !== last.hash) {
        yield { fault: `${name}: number ${last.number} was changed or replaced` };
      }
      if (isFirst && name !== fileName(number)) yield { fault: `${name}: begins with ${number}` };
      if (act === PRUNE && details?.['before'] === missing + 1) isPruned = true;
      isFirst = false;
      last = { number, hash: hashOfLine(line) };
      if (number === head.number) {
        isHeadSeen = true;
        if (last.hash !== head.hash) yield { fault: `${name}: number ${number} was changed` };
      }
      yield { entry };
    }
  }
  if (missing > 0 && !isPruned) yield { fault: `the lines up to number ${missing} are missing` };
  if (!isHeadSeen) yield { fault: `the lines after number ${last.number} are missing` };
  // The head is written after each line, so that at most one line is beyond it.
  if (head.number === 0 && last.number > 1) yield { fault: `${HEAD_FILE} is missing or damaged` };
}

/** The head of a log; that of an empty one where it has none. */
export async function readHead(files: Files, folder: string): Promise<Head> {
  const text = await files.readFile(join(folder, HEAD_FILE)).catch(missingAs(''));
  return parseHead(text.toString()) ?? NO_LINE;
}

/** Lines of a file. The last may be incomplete. */
async function linesOf(path: string) {
  const lines = (await readFile(path, 'utf8')).split('\n');
  const torn = lines.pop()!;
  const whole = lines.map((line) => ({ line, isWhole: true }));
  return torn === '' ? whole : [...whole, { line: torn, isWhole: false }];
}
