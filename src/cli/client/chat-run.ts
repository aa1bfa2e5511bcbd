import type * as v from 'valibot';
import { Failure } from '../../failure.ts';
import { usageFailure } from '../command/command.ts';
import { readFlags } from '../command/flags.ts';
import { jsonText, print, printStderr } from '../terminal/terminal.ts';
import { requireModel, textModels } from './catalog.ts';
import { type ChatAnswer, showAnswer } from './chat-answer.ts';
import { readInput } from './chat-input.ts';
import { ChatOutput } from './chat-output.ts';
import { chatFlags } from './client-flags.ts';
import type { Message } from './conversation.ts';
import { converse } from './conversation.ts';
import { DaemonClient } from './daemon-client.ts';

type ChatFlags = v.InferOutput<typeof chatFlags>;

const PATH = '/v1/chat/completions';
const EXIT = { done: 0, interrupted: 130 } as const;

/**
 * Sends a message to a model and prints the answer, or holds a conversation where there is none.
 *
 * @param flags as commander parsed them
 * @returns the exit code
 * @throws Failure
 */
export async function runChat(
  prompt: string | undefined,
  flags: Readonly<Record<string, unknown>>,
): Promise<number> {
  const options = readFlags(chatFlags, flags);
  const interrupted = new AbortController();
  const client = new DaemonClient(flags, interrupted.signal);
  const input = await readInput(prompt);
  if (input === null && options.json) throw usageFailure('--json goes with a prompt');
  const interrupt = () => interrupted.abort();
  process.on('SIGINT', interrupt);
  const output = new ChatOutput();
  try {
    const model = options.model ?? (await textModels(client))[0];
    const ask = async (messages: readonly Message[], asked = model): Promise<ChatAnswer> => {
      const body = { ...bodyFor(options, asked), messages, stream: true };
      const exchange = await client.open(PATH, body);
      const answer = await showAnswer(exchange, output).finally(() => output.end());
      warnIfIncomplete(answer);
      return answer;
    };
    const start = systemOf(options);
    if (input === null) {
      const models = () => textModels(client);
      const require = (name: string) => requireModel(client, name);
      await converse({ start, ask, interrupted, model, models, require, url: client.url });
    } else if (options.json) {
      const messages = [...start, { role: 'user', content: input }];
      const document = await client.json(PATH, { ...bodyFor(options, model), messages });
      await print(`${jsonText(document as object)}\n`);
    } else {
      await ask([...start, { role: 'user', content: input }]);
    }
    return interrupted.signal.aborted ? EXIT.interrupted : EXIT.done;
  } catch (error) {
    if (interrupted.signal.aborted) return EXIT.interrupted;
    throw error instanceof Failure ? withoutParam(error) : error;
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

/** Removes `param`, by which main recognises errors in the command line: this one is the request's. */
function withoutParam({ type, message, code, cause }: Failure): Failure {
  return new Failure(type, message, { originalCode: code, cause });
}

/** Prints the reason of an answer that is not complete. */
function warnIfIncomplete({ finishReason }: ChatAnswer): void {
  if (finishReason === 'length')
    printStderr('oriel: the answer reached its limit of tokens and stops here');
  if (finishReason === 'content_filter')
    printStderr('oriel: the answer was withheld or cut by a filter');
}
