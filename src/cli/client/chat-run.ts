import type * as v from 'valibot';
import { Failure } from '../../failure.ts';
import { readFlags } from '../flags.ts';
import { jsonText } from '../json.ts';
import { print, printStderr } from '../terminal.ts';
import { usageFailure } from '../usage.ts';
import { firstTextModel } from './catalog.ts';
import { type ChatAnswer, showAnswer } from './chat-answer.ts';
import { readInput } from './chat-input.ts';
import { ChatOutput } from './chat-output.ts';
import { chatFlags } from './client-flags.ts';
import { converse } from './conversation.ts';
import { DaemonClient } from './daemon-client.ts';
import type { Message } from './message.ts';

type ChatFlags = v.InferOutput<typeof chatFlags>;

const PATH = '/v1/chat/completions';
const EXIT = { done: 0, interrupted: 130 } as const;

/**
 * Talks to a model: once where there is something to printStderr, else as long as the person likes.
 *
 * @param flags what commander parsed
 * @returns the exit code
 * @throws Failure
 */
export async function runChat(
  prompt: string | undefined,
  flags: Readonly<Record<string, unknown>>,
): Promise<number> {
  const options = readFlags(chatFlags, flags);
  const leaving = new AbortController();
  const client = new DaemonClient(flags, leaving.signal);
  const input = await readInput(prompt);
  if (input === null && options.json) throw usageFailure('--json goes with a prompt');
  const interrupt = () => leaving.abort();
  process.on('SIGINT', interrupt);
  const output = new ChatOutput();
  try {
    const model = options.model ?? (await firstTextModel(client));
    const body = bodyFor(options, model);
    const ask = async (messages: readonly Message[]): Promise<ChatAnswer> => {
      const exchange = await client.open(PATH, { ...body, messages, stream: true });
      const answer = await showAnswer(exchange, output).finally(() => output.end());
      noteEnd(answer);
      return answer;
    };
    const start = systemOf(options);
    if (input === null) {
      await converse({ start, ask, leaving, title: `${model} at ${client.url}` });
    } else if (options.json) {
      const messages = [...start, { role: 'user', content: input }];
      const document = await client.json(PATH, { ...body, messages });
      await print(`${jsonText(document as object)}\n`);
    } else {
      await ask([...start, { role: 'user', content: input }]);
    }
    return leaving.signal.aborted ? EXIT.interrupted : EXIT.done;
  } catch (error) {
    if (leaving.signal.aborted) return EXIT.interrupted;
    throw error instanceof Failure ? plain(error) : error;
  } finally {
    process.off('SIGINT', interrupt);
    await client.close();
  }
}

function bodyFor({ effort, maxTokens, temperature }: ChatFlags, model: string): object {
  return {
    model,
    ...(effort !== undefined && { reasoning_effort: effort }),
    ...(maxTokens !== undefined && { max_completion_tokens: maxTokens }),
    ...(temperature !== undefined && { temperature }),
  };
}

function systemOf({ system }: ChatFlags): Message[] {
  return system === undefined ? [] : [{ role: 'system', content: system }];
}

/** A fault of the request is none of the command line, which names its own by `param`. */
function plain({ type, message, code, cause }: Failure): Failure {
  return new Failure(type, message, { originalCode: code, cause });
}

/** Says why an answer ended, where it is not simply over. */
function noteEnd({ finishReason }: ChatAnswer): void {
  if (finishReason === 'length')
    printStderr('oriel: the answer reached its limit of tokens and stops here');
  if (finishReason === 'content_filter')
    printStderr('oriel: the answer was withheld or cut by a filter');
}
