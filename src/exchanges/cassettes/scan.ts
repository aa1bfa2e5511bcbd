import { isUtf8 } from 'node:buffer';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { knownMaskOf, maskOf, maskText } from '../secrets.ts';

/** A place that may hold a secret. */
export interface Finding {
  readonly file: string;
  readonly line: number;
  /** The line that contains it, with the secret masked. */
  readonly excerpt: string;
}

/** Characters shown on each side of a secret. */
const SHOWN = 24;

/**
 * Finds secrets in all files of a folder. Texts are searched for usual forms of secrets, all files for known secrets.
 *
 * @param secrets known ones of any form
 * @throws the error of the system where a file cannot be read
 */
export function scanFolder(folder: string, secrets: readonly string[]): Finding[] {
  const [maskKnown, maskAll] = [knownMaskOf(secrets), maskOf(secrets)];
  const findings: Finding[] = [];
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  for (const file of files) {
    const bytes = readFileSync(file);
    const text = bytes.toString('latin1');
    // Binary data may look like a secret by chance.
    const masked = isUtf8(bytes) ? maskText(text, maskAll) : maskKnown(text);
    if (masked === text) continue;
    const lines = text.split('\n');
    for (const [index, line] of masked.split('\n').entries()) {
      const before = lines[index]!;
      if (line === before) continue;
      const at = [...line].findIndex((character, place) => character !== before[place]);
      const part = line.slice(Math.max(0, at - SHOWN), at + SHOWN);
      const excerpt = Buffer.from(part, 'latin1').toString().trim();
      findings.push({ file, line: index + 1, excerpt });
    }
  }
  return findings;
}
