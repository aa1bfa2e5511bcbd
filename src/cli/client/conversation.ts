import { createInterface } from 'node:readline';
import { Failure } from '../../failure.ts';
import { printStderr, printStderrLines } from '../terminal.ts';
import type { ChatAnswer } from './chat-answer.ts';
import type { Message } from './message.ts';

interface Conversation {
  readonly start: readonly Message[];
  readonly model: string;
  /** Sends the messages to a model and prints the answer. */
  readonly ask: (messages: readonly Message[], model: string) => Promise<ChatAnswer>;
  /** Aborts at ^C. */
  readonly interrupted: AbortController;
  /** URL of the daemon, printed at the start. */
  readonly url: string;
}

const HELP = `/model        show the model
/model NAME   go on with another model
/exit, ^D     end the conversation
/help         show this`;

/** Reads and answers messages until /exit, ^D, or ^C, which also aborts the current answer. */
export async function converse(conversation: Conversation): Promise<void> {
  const { start, ask, interrupted, url } = conversation;
  let { model } = conversation;
  const lines = createInterface({
    input: process.stdin,
    // Standard output is for answers only.
    output: process.stderr,
    prompt: '> ',
  });
  lines.on('SIGINT', () => interrupted.abort());
  interrupted.signal.addEventListener('abort', () => lines.close(), { once: true });
  printStderr(`oriel: ${model} at ${url}; /help lists commands, /exit or ^D ends the conversation`);
  const messages = [...start];
  try {
    lines.prompt();
    for await (const line of lines) {
      const text = line.trim();
      if (text === '/exit') return;
      if (/^\/[a-z]+( |$)/.test(text)) obey(text);
      else if (text !== '') await sendLine(line);
      if (interrupted.signal.aborted) return;
      lines.prompt();
    }
    // ^D leaves the cursor behind the prompt.
    process.stderr.write('\n');
  } finally {
    lines.close();
  }

  function obey(text: string): void {
    const [command, name = ''] = text.split(/\s+/);
    if (command === '/help') printStderrLines(HELP);
    else if (command === '/model') {
      if (name !== '') model = name;
      printStderr(`oriel: the model is ${model}`);
    } else printStderr(`oriel: unknown command ${command}; see /help`);
  }

  async function sendLine(line: string): Promise<void> {
    messages.push({ role: 'user', content: line });
    try {
      const { text, reasoning } = await ask(messages, model);
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
