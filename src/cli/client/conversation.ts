import { createInterface } from 'node:readline';
import { Failure } from '../../failure.ts';
import { printStderr, printStderrLines } from '../terminal/terminal.ts';
import type { ChatAnswer } from './chat-answer.ts';

interface Conversation {
  readonly start: readonly Message[];
  readonly model: string;
  /** Names of the models that may follow. */
  readonly models: () => Promise<readonly string[]>;
  /** @throws Failure if there is no such model */
  readonly require: (model: string) => Promise<void>;
  /** Sends the messages to a model and prints the answer. */
  readonly ask: (messages: readonly Message[], model: string) => Promise<ChatAnswer>;
  /** Aborts at ^C. */
  readonly interrupted: AbortController;
  /** URL of the daemon, printed at the start. */
  readonly url: string;
}

const HELP = `/model        show the model, and others
/model NAME   change the model
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
      if (/^\/[a-z]*( |$)/.test(text)) await tried(() => obey(text));
      else if (text !== '') await tried(() => sendLine(line));
      if (interrupted.signal.aborted) return;
      lines.prompt();
    }
    // ^D leaves the cursor behind the prompt.
    process.stderr.write('\n');
  } finally {
    lines.close();
  }

  async function obey(text: string): Promise<void> {
    const [command, name = ''] = text.split(/\s+/);
    if (command === '/help') return printStderrLines(HELP);
    if (command !== '/model') return printStderr(`oriel: unknown command ${command}; see /help`);
    if (name !== '') await conversation.require(name);
    model = name || model;
    printStderr(`oriel: the model is ${model}`);
    if (name !== '') return;
    const others = (await conversation.models()).filter((other) => other !== model);
    if (others.length > 0) printStderr(`oriel: others are ${others.join(', ')}`);
  }

  async function sendLine(line: string): Promise<void> {
    const message: Message = { role: 'user', content: line };
    // A message that fails is not part of the conversation; the user may send it again.
    const { text, reasoning } = await ask([...messages, message], model);
    messages.push(message, {
      role: 'assistant',
      content: text,
      ...(reasoning !== '' && { reasoning_content: reasoning }),
    });
  }

  /** Prints the reason of a failure, after which the conversation goes on. */
  async function tried(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (interrupted.signal.aborted || !(error instanceof Failure)) throw error;
      printStderr(`oriel: ${error.message}`);
    }
  }
}

/** A message of a chat completion. */
export interface Message {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
  /** Models with fixed reasoning require it in later requests. */
  readonly reasoning_content?: string;
}
