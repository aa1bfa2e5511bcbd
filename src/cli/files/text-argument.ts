import { readFileSync, statSync } from 'node:fs';
import { readUtf8 } from '../../utf8.ts';
import { usageFailure } from '../command/command.ts';

/** Bytes of a file that is an argument. */
const MAX_BYTES = 1e6;

/** What a message says of values that are no files, by the reason why a file is not read. */
const HINTS: Readonly<Record<string, string>> = {
  'no such file': ', and not one of',
  'not UTF-8': '; expected a text file, or one of',
};

/**
 * Reads a file that is an argument, such as a recipe.
 *
 * @param names values that are no files, for the message
 * @throws Failure with code `usage`
 */
export function readText(path: string, names: readonly string[]): string {
  const read = () => {
    // A device or a pipe might not end.
    if (!statSync(path).isFile()) throw new Error('expected a file');
    return readFileSync(path);
  };
  const failure = (reason: string) => {
    const hint = names.length > 0 ? HINTS[reason] : undefined;
    return usageFailure(`${path}: ${reason}${hint ? `${hint} ${names.join(', ')}` : ''}`);
  };
  return readUtf8(read, MAX_BYTES, failure);
}
