import { createInterface } from 'node:readline';
import { Failure } from '../../failure.ts';
import { printStderr } from '../terminal.ts';
import type { ChatAnswer } from './chat-answer.ts';
import type { Message } from './message.ts';

interface Conversation {
  readonly start: readonly Message[];
  /** Shows the answer to all that was said so far. */
  readonly ask: (messages: readonly Message[]) => Promise<ChatAnswer>;
  /** Aborted where the person leaves by ^C. */
  readonly leaving: AbortController;
  /** What the person talks to. */
  readonly title: string;
}

/** Talks until the person leaves: by /exit or ^D, or by ^C, which also cuts the answer short. */
export async function converse({ start, ask, leaving, title }: Conversation): Promise<void> {
  const lines = createInterface({
    input: process.stdin,
    // Standard output is the answers' alone.
    output: process.stderr,
    prompt: '> ',
  });
  lines.on('SIGINT', () => leaving.abort());
  leaving.signal.addEventListener('abort', () => lines.close(), { once: true });
  printStderr(`oriel: ${title}; /exit or ^D ends the conversation`);
  const messages = [...start];
  try {
    lines.prompt();
    for await (const line of lines) {
      if (line.trim() === '/exit') return;
      if (line.trim() !== '') await turn(line);
      if (leaving.signal.aborted) return;
      lines.prompt();
    }
    // The prompt is left standing by ^D.
    process.stderr.write('\n');
  } finally {
    lines.close();
  }

  async function turn(line: string): Promise<void> {
    messages.push({ role: 'user', content: line });
    try {
      const { text, reasoning } = await ask(messages);
      messages.push({
        role: 'assistant',
        content: text,
        ...(reasoning !== '' && { reasoning_content: reasoning }),
      });
    } catch (error) {
      if (leaving.signal.aborted || !(error instanceof Failure)) throw error;
      // As if it had not been said: the person may say it again.
      messages.pop();
      printStderr(`oriel: ${error.message}`);
    }
  }
}
