import { readUtf8 } from '../../utf8.ts';
import { usageFailure } from '../command/command.ts';
import { readStandardInput } from '../terminal/terminal.ts';

/** Maximum bytes of text from standard input. */
const MAX_BYTES = 64e6;

/**
 * Reads the user's message: the prompt, standard input, or the prompt followed by standard input.
 * Null without a prompt if standard input is a terminal, for a conversation.
 *
 * @throws Failure with code `usage`
 */
export async function readInput(prompt: string | undefined): Promise<string | null> {
  const isTerminal = process.stdin.isTTY === true;
  if (prompt === undefined && isTerminal) return null;
  const piped = prompt === '-' || !isTerminal ? await readText() : '';
  const parts = [prompt === '-' ? '' : (prompt ?? ''), piped];
  const message = parts.filter((part) => part.trim() !== '').join('\n\n');
  if (message === '') throw usageFailure('a prompt is required');
  return message;
}

/**
 * Reads the prompt of a generation: the argument, or standard input if the argument is `-` or missing.
 *
 * @throws Failure with code `usage`
 */
export async function readPrompt(prompt: string | undefined): Promise<string> {
  const isPiped = prompt === '-' || (prompt === undefined && !process.stdin.isTTY);
  const text = (isPiped ? await readInput('-') : prompt)?.trim() ?? '';
  if (text === '') throw usageFailure('a prompt is required');
  return text;
}

async function readText(): Promise<string> {
  const bytes = await readStandardInput(MAX_BYTES);
  const failure = (reason: string) => usageFailure(`standard input: ${reason}`);
  return readUtf8(() => bytes, MAX_BYTES, failure);
}
