import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The prompts of a file, one a line, by the `# heading` above them. */
function sectionsOf(name: string): Record<string, string[]> {
  const sections: Record<string, string[]> = {};
  let prompts: string[] = [];
  const text = readFileSync(join(import.meta.dirname, 'prompts', `${name}.txt`), 'utf8');
  for (const line of text.split('\n').filter((one) => one !== '')) {
    if (line.startsWith('# ')) {
      prompts = [];
      sections[line.slice(2)] = prompts;
    } else prompts.push(line);
  }
  return sections;
}

/** Benign prompts by theme. Every one of them must pass. */
export const BENIGN = sectionsOf('benign');

/**
 * Benign prompts that measure false positives, since they did not influence the choice of terms. The rules are not tuned
 * to single ones: of the lists `wide` and `fresh` one in a hundred may be refused.
 *
 * - `first`: written before any rule was tuned
 * - `later`: on subjects near refused ones, written after the first tuning
 * - `wide`: on many subjects, written before the rules covered further disguises
 * - `fresh`: written independently of the rules and the other lists, after the last change of the rules
 */
export const HELD_OUT = sectionsOf('held-out');
