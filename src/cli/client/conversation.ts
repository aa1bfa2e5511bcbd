import { createInterface } from 'node:readline';
import { Failure } from '../../failure.ts';
import { printStderr } from '../terminal.ts';
import type { ChatAnswer } from './chat-answer.ts';
import type { Message } from './message.ts';

interface Conversation {
  readonly start: readonly Message[];
  /** Sends the messages and prints the answer. */
  readonly ask: (messages: readonly Message[]) => Promise<ChatAnswer>;
  /** Aborts at ^C. */
  readonly interrupted: AbortController;
  /** Model and daemon, printed at the start. */
  readonly title: string;
}

/** Reads and answers messages until /exit, ^D, or ^C, which also aborts the current answer. */
export async function converse({ start, ask, interrupted, title }: Conversation): Promise<void> {
  const lines = createInterface({
    input: process.stdin,
    // Standard output is for answers only.
    output: process.stderr,
    prompt: '> ',
  });
  lines.on('SIGINT', () => interrupted.abort());
  interrupted.signal.addEventListener('abort', () => lines.close(), { once: true });
  printStderr(`oriel: ${title}; /exit or ^D ends the conversation`);
  const messages = [...start];
  try {
    lines.prompt();
    for await (const line of lines) {
      if (line.trim() === '/exit') return;
      if (line.trim() !== '') await sendLine(line);
      if (interrupted.signal.aborted) return;
      lines.prompt();
    }
    // ^D leaves the cursor behind the prompt.
    process.stderr.write('\n');
  } finally {
    lines.close();
  }

  async function sendLine(line: string): Promise<void> {
    messages.push({ role: 'user', content: line });
    try {
      const { text, reasoning } = await ask(messages);
      messages.push({
        role: 'assistant',
        content: text,
        ...(reasoning !== '' && { reasoning_content: reasoning }),
      });
    } catch (error) {
      if (interrupted.signal.aborted || !(error instanceof Failure)) throw error;
      // The failed message is not part of the conversation; the user may send it again.
      messages.pop();
      printStderr(`oriel: ${error.message}`);
    }
  }
}
