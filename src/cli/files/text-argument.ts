import { readFileSync, statSync } from 'node:fs';
import { valueOr } from '../../flow.ts';
import { usageFailure } from '../command/command.ts';

/** Bytes of a file that is an argument. */
const MAX_BYTES = 1e6;

const REASONS: Readonly<Record<string, string>> = {
  EISDIR: 'a folder, not a file',
  EACCES: 'no permission to read it',
};

/**
 * Reads a file that is an argument, such as a recipe.
 *
 * @param names values that are no files, for the message
 * @throws Failure with code `usage`
 */
export function readText(path: string, names: readonly string[]): string {
  let bytes: Uint8Array;
  try {
    // A device or a pipe might not end.
    if (!statSync(path).isFile()) throw usageFailure(`${path}: expected a file`);
    bytes = readFileSync(path);
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') {
      throw usageFailure(
        `${path}: no such file${names.length > 0 ? `, and not one of ${names.join(', ')}` : ''}`,
      );
    }
    throw REASONS[code] === undefined
      ? error
      : usageFailure(`${path}: ${REASONS[code] ?? message}`);
  }
  if (bytes.length > MAX_BYTES) throw usageFailure(`${path}: larger than ${MAX_BYTES / 1000} KB`);
  const text = valueOr(() => new TextDecoder('utf-8', { fatal: true }).decode(bytes), null);
  if (text !== null) return text;
  const expected = names.length > 0 ? `; expected a text file, or one of ${names.join(', ')}` : '';
  throw usageFailure(`${path}: not UTF-8${expected}`);
}
