import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { maskText } from '../mask-answer.ts';
import { maskOf } from '../secrets.ts';

/** A place that may hold a secret. */
export interface Finding {
  readonly file: string;
  readonly line: number;
  /** The line around it, with the secret masked. */
  readonly excerpt: string;
}

/** Characters that are shown on each side of a secret. */
const SHOWN = 24;

/**
 * Finds secrets in all files of a folder: by their form in texts, and known ones in every file.
 *
 * @param known secrets of any form
 * @throws the error of the system where a file cannot be read
 */
export function* scanFolder(folder: string, known: readonly string[]): Generator<Finding, void> {
  const byForm = maskOf(known);
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  for (const file of files) {
    const bytes = readFileSync(file);
    const text = bytes.toString('latin1');
    const isText = Buffer.from(bytes.toString()).equals(bytes);
    const masked = isText ? maskText(text, byForm) : maskKnown(text, known);
    if (masked === text) continue;
    const lines = text.split('\n');
    for (const [index, line] of masked.split('\n').entries()) {
      const at = differenceOf(line, lines[index]!);
      if (at === -1) continue;
      const part = line.slice(Math.max(0, at - SHOWN), at + SHOWN);
      yield { file, line: index + 1, excerpt: Buffer.from(part, 'latin1').toString().trim() };
    }
  }
}

/** Bytes may look like a secret by chance. */
function maskKnown(text: string, known: readonly string[]): string {
  return known.reduce((masked, one) => masked.replaceAll(one, '*'.repeat(one.length)), text);
}

function differenceOf(one: string, other: string): number {
  if (one === other) return -1;
  let at = 0;
  while (one[at] === other[at]) at += 1;
  return at;
}
