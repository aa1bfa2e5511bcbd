import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { diskFiles, isMissing, namesIn } from '../files.ts';
import {
  type AuditEntry,
  fileName,
  HEAD_FILE,
  hashOfLine,
  isLogFile,
  NO_LINE,
  PRUNE,
  parseEntry,
  parseHead,
} from './entry.ts';

/** What is read of a log: its lines, and what is wrong with the chain of them. */
export type AuditItem = { readonly entry: AuditEntry } | { readonly fault: string };

/**
 * Reads the log of a folder from its oldest line on, and verifies that no line is missing or was
 * changed. It may be written meanwhile: a last line without its end is not there yet.
 */
export async function* readAudit(folder: string): AsyncGenerator<AuditItem, void> {
  // Read first: lines that are written meanwhile are beyond it.
  const head = await readHead(folder);
  const names = (await namesIn(diskFiles, folder)).filter(isLogFile);
  let last = NO_LINE;
  /** The number before the first line that is there, and whether a line says why. */
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
        yield { fault: `${name}: number ${last.number} was changed, or is another` };
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
  // It is written after each line, so that at most one is beyond it.
  if (head.number === 0 && last.number > 1) yield { fault: `${HEAD_FILE} is missing or damaged` };
}

async function readHead(folder: string) {
  try {
    return parseHead(await readFile(join(folder, HEAD_FILE), 'utf8')) ?? NO_LINE;
  } catch (error) {
    if (isMissing(error)) return NO_LINE;
    throw error;
  }
}

/** The lines of a file, of which the last may lack its end. */
async function linesOf(path: string) {
  const lines = (await readFile(path, 'utf8')).split('\n');
  const torn = lines.pop()!;
  const whole = lines.map((line) => ({ line, isWhole: true }));
  return torn === '' ? whole : [...whole, { line: torn, isWhole: false }];
}
