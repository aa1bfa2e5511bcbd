import { usageFailure } from '../usage.ts';

/** The largest text that is read from standard input. */
const LARGEST = 64 * 1024 * 1024;

/**
 * What the user says: the prompt, what standard input brings, or the one and below it the other.
 * Null where there is a terminal to talk on instead.
 *
 * @throws Failure of wrong usage
 */
export async function readInput(prompt: string | undefined): Promise<string | null> {
  const isTerminal = process.stdin.isTTY === true;
  if (prompt === undefined && isTerminal) return null;
  const piped = prompt === '-' || !isTerminal ? await readStandardInput() : '';
  const parts = [prompt === '-' ? '' : (prompt ?? ''), piped];
  const said = parts.filter((part) => part.trim() !== '').join('\n\n');
  if (said === '') throw usageFailure('expected a prompt, received nothing');
  return said;
}

async function readStandardInput(): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > LARGEST) throw usageFailure('standard input: expected a text of at most 64 MB');
    chunks.push(chunk);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw usageFailure('standard input: expected text in UTF-8, received other bytes');
  }
}
