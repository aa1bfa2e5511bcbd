import type { Failure } from './failure.ts';

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EISDIR: 'a folder, not a file',
  EACCES: 'no permission to read it',
  ERR_ENCODING_INVALID_ENCODED_DATA: 'not UTF-8',
};

/**
 * Reads text in UTF-8.
 *
 * @param failure made of the reason why there is no text: `no such file`, `not UTF-8`
 * @throws that failure
 */
export function readUtf8(
  read: () => Uint8Array,
  maxBytes: number,
  failure: (reason: string, cause?: unknown) => Failure,
): string {
  let text: string | null = null;
  try {
    const bytes = read();
    if (bytes.length <= maxBytes) text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    throw failure(REASONS[code] ?? message, error);
  }
  if (text === null) throw failure(`larger than ${maxBytes / 1000} KB`);
  return text;
}
