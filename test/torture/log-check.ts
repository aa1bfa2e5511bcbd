import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Violations } from './violations.ts';

/** Messages of level error and fatal, and how often they came. */
export type Complaints = Record<string, number>;

/** Looks at every line that the daemon wrote. */
export async function checkLog(
  file: string,
  errors: string,
  secrets: readonly string[],
  violations: Violations,
): Promise<{ lines: number; complaints: Complaints }> {
  const complaints: Complaints = {};
  let lines = 0;
  for await (const text of createInterface({ input: createReadStream(file) })) {
    lines += 1;
    const secret = secrets.find((each) => text.includes(each));
    if (secret !== undefined) violations.add('the log has no secrets', text);
    let line: { level?: string; msg?: string };
    try {
      line = JSON.parse(text) as typeof line;
    } catch {
      // The line that a killed daemon was writing is cut.
      if (lines > 1 && !text.startsWith('{')) violations.add('the log is JSON', text);
      continue;
    }
    const { level = '', msg = '' } = line;
    if (msg.includes('a defect')) violations.add('no defect is logged', text);
    if (level === 'error' || level === 'fatal') complaints[msg] = (complaints[msg] ?? 0) + 1;
  }
  // Unhandled rejections, warnings and traces would be there.
  if (errors.trim() !== '') violations.add('nothing is written to standard error', errors);
  return { lines, complaints };
}
