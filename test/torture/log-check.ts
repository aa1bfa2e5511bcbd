import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Violations } from './violations.ts';

/** Number of log lines of level error and fatal, by message. */
export type LogErrors = Record<string, number>;

/** Checks every line of the log: JSON, and without secrets. */
export async function checkLog(
  file: string,
  errors: string,
  secrets: readonly string[],
  violations: Violations,
): Promise<{ lines: number; logErrors: LogErrors }> {
  const logErrors: LogErrors = {};
  let lines = 0;
  for await (const text of createInterface({ input: createReadStream(file) })) {
    lines += 1;
    const secret = secrets.find((each) => text.includes(each));
    if (secret !== undefined) violations.add('the log has no secrets', text);
    let line: { level?: string; msg?: string };
    try {
      line = JSON.parse(text) as typeof line;
    } catch {
      // The last line of a killed daemon is incomplete.
      if (lines > 1 && !text.startsWith('{')) violations.add('the log is JSON', text);
      continue;
    }
    const { level = '', msg = '' } = line;
    if (level === 'fatal') violations.add('the daemon never ends by itself', text);
    if (msg.includes('a defect')) violations.add('no defect is logged', text);
    if (level === 'error' || level === 'fatal') logErrors[msg] = (logErrors[msg] ?? 0) + 1;
  }
  // Standard error has unhandled rejections, warnings and stack traces.
  if (errors.trim() !== '') violations.add('nothing is written to standard error', errors);
  return { lines, logErrors };
}
