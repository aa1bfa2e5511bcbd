import { createInterface } from 'node:readline';
import type * as v from 'valibot';
import { Failure } from '../../failure.ts';
import { type CommandInput, readFlags, usageFailure } from '../command/command.ts';
import { printJson, printStderr, printStderrLines } from '../terminal/terminal.ts';
import { requireModel, textModels } from './catalog.ts';
import { type ChatAnswer, ChatOutput, showAnswer } from './chat-answer.ts';
import { chatFlags } from './client-flags.ts';
import { readInput } from './prompt.ts';
import { inSession, type Session } from './session.ts';

/** A message of a chat completion. */
interface Message {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
  /** Models with fixed reasoning require it in later requests. */
  readonly reasoning_content?: string;
}

/** Sends the messages to a model and prints the answer. */
type Ask = (messages: readonly Message[], model: string) => Promise<ChatAnswer>;

const PATH = '/v1/chat/completions';

/** Sends a message to a model and prints the answer, or holds a conversation if there is none. */
export async function runChat({ positionals: [prompt], flags }: CommandInput): Promise<number> {
  const options = readFlags(chatFlags, flags);
  const input = await readInput(prompt as string | undefined);
  if (input === null && options.json) throw usageFailure('--json: only with a prompt');
  const work = async (session: Session) => {
    const { client } = session;
    const model = options.model ?? (await textModels(client))[0];
    const output = new ChatOutput();
    const ask: Ask = async (messages, asked) => {
      const exchange = await client.open(PATH, {
        ...bodyFor(options, asked),
        messages,
        stream: true,
      });
      const answer = await showAnswer(exchange, output).finally(() => output.end());
      warnIfIncomplete(answer);
      return answer;
    };
    const start: Message[] =
      options.system === undefined ? [] : [{ role: 'system', content: options.system }];
    if (input === null) {
      await converse(session, { start, ask, model });
    } else {
      const messages: Message[] = [...start, { role: 'user', content: input }];
      const body = { ...bodyFor(options, model), messages };
      if (options.json) await printJson((await client.json(PATH, body)) as object);
      else await ask(messages, model);
    }
    return 0;
  };
  return inSession(flags, work, false);
}

function bodyFor(
  { effort, maxTokens, temperature }: v.InferOutput<typeof chatFlags>,
  model: string,
): object {
  // JSON leaves out undefined properties.
  return { model, reasoning_effort: effort, max_completion_tokens: maxTokens, temperature };
}

/** Prints the reason of an answer that is not complete. */
function warnIfIncomplete({ finishReason }: ChatAnswer): void {
  if (finishReason === 'length')
    printStderr('oriel: the answer reached its limit of tokens and stops here');
  if (finishReason === 'content_filter')
    printStderr('oriel: the answer was withheld or cut by a filter');
}

interface Conversation {
  readonly start: readonly Message[];
  readonly model: string;
  readonly ask: Ask;
}

const HELP = `/model        show the model, and others
/model NAME   change the model
/exit, ^D     end the conversation
/help         show this`;

/** Reads and answers messages until /exit, ^D, or ^C, which also aborts the current answer. */
async function converse(
  { client, signal, interrupt }: Session,
  { start, ask, ...conversation }: Conversation,
): Promise<void> {
  let { model } = conversation;
  const lines = createInterface({
    input: process.stdin,
    // Standard output is for answers only.
    output: process.stderr,
    prompt: '> ',
  });
  lines.on('SIGINT', interrupt);
  signal.addEventListener('abort', () => lines.close(), { once: true });
  printStderr(
    `oriel: ${model} at ${client.url}; /help lists commands, /exit or ^D ends the conversation`,
  );
  const messages = [...start];
  try {
    lines.prompt();
    for await (const line of lines) {
      const text = line.trim();
      if (text === '/exit') return;
      if (/^\/[a-z]*( |$)/.test(text)) await reportFailure(() => obey(text));
      else if (text !== '') await reportFailure(() => sendLine(line));
      if (signal.aborted) return;
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
    if (name !== '') await requireModel(client, name);
    model = name || model;
    printStderr(`oriel: the model is ${model}`);
    if (name !== '') return;
    const others = (await textModels(client)).filter((other) => other !== model);
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
  async function reportFailure(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (signal.aborted || !(error instanceof Failure)) throw error;
      printStderr(`oriel: ${error.message}`);
    }
  }
}
