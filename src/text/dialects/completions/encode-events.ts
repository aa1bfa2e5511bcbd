import { Failure } from '../../../failure.ts';
import { answerText } from '../../../store/answer-identity.ts';
import type { Json } from '../../canonical/canonical.ts';
import type { FinishReason, TextEvent, Usage } from '../../canonical/events.ts';
import { untranslatableAnswer, untranslatableBlock } from '../answer-errors.ts';
import type { EncodeContext, EventEncoder } from '../dialect.ts';
import { type AnswerBlock, foldAnswer } from '../fold-answer.ts';
import { openaiUsage, sumOf } from '../usage.ts';
import { promptsOf } from './decode-request.ts';
import type { CompletionsRequest } from './fields.ts';

const ID_LENGTH = 29;

/** An id in the form of OpenAI's. */
function newCompletionId(): string {
  return `cmpl-${answerText(ID_LENGTH)}`;
}

const REASONS: Readonly<Record<FinishReason, string>> = {
  stop: 'stop',
  length: 'length',
  refusal: 'content_filter',
  // The format has only the three reasons above.
  'tool-calls': 'stop',
  pause: 'stop',
  other: 'stop',
};

function finishReasonOf(reason: FinishReason): string {
  return REASONS[reason];
}

/** The text with which a choice begins: its prompt where the client asks for an echo. */
function echoOf({ request }: EncodeContext, choice: number): string {
  const body = request.body as Json & CompletionsRequest;
  if (body.echo !== true) return '';
  return promptsOf(body)[Math.floor(choice / (body.n ?? 1))]!;
}

/**
 * The text of an event or a block. Reasoning and sources of citations have no field in this format.
 *
 * @throws Failure for output that is no text
 */
function textOf(event: TextEvent | AnswerBlock): string {
  switch (event.type) {
    case 'text':
    case 'refusal':
    case 'text-delta':
    case 'refusal-delta':
      return event.text;
    case 'native':
      throw untranslatableBlock('completions', event);
    case 'call':
    case 'tool-start':
      throw untranslatableAnswer('completions', 'a tool call');
    default:
      return '';
  }
}

const DONE = 'data: [DONE]\n\n';

/** Encodes an answer as chunks of text, each of one choice. */
export class CompletionsEncoder implements EventEncoder {
  readonly #context: EncodeContext;
  readonly #id = newCompletionId();
  /** By number of the choice: its usage once it has ended, else undefined. */
  readonly #choices = new Map<number, Usage | null | undefined>();
  #model: string | null = null;
  #ended = false;

  constructor(context: EncodeContext) {
    this.#context = context;
  }

  push(event: TextEvent, choice = 0): string {
    if (this.#ended) return '';
    if (event.type === 'error') return this.#fail(event.failure);
    if (event.type === 'start') this.#model ??= event.model;
    const isFirst = !this.#choices.has(choice);
    if (isFirst) this.#choices.set(choice, undefined);
    const echo = isFirst ? echoOf(this.#context, choice) : '';
    if (event.type === 'finish') {
      this.#choices.set(choice, event.usage);
      return this.#chunk(choice, echo, finishReasonOf(event.reason)) + this.#end();
    }
    try {
      const text = echo + textOf(event);
      return text === '' ? '' : this.#chunk(choice, text, null);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      return this.#fail(error);
    }
  }

  #chunk(index: number, text: string, reason: string | null): string {
    const choice = { index, text, logprobs: null, finish_reason: reason };
    return this.#frame({ choices: [choice] }, null);
  }

  #frame(own: object, usage: Usage | null): string {
    const { request, created } = this.#context;
    const frame = {
      id: this.#id,
      object: 'text_completion',
      created,
      model: this.#model ?? request.model,
      ...own,
      // With include_usage, `usage` is null in all chunks but the last.
      ...(request.includeUsage && { usage: usage && openaiUsage(usage) }),
    };
    return `data: ${JSON.stringify(frame)}\n\n`;
  }

  /** The frames that end the stream; empty while a choice is open. */
  #end(): string {
    const usages = [...this.#choices.values()].filter((usage) => usage !== undefined);
    const { n, includeUsage } = this.#context.request;
    if (usages.length < (n ?? 1)) return '';
    this.#ended = true;
    const usage = sumOf(usages);
    return (includeUsage && usage ? this.#frame({ choices: [] }, usage) : '') + DONE;
  }

  /** Sends no finish_reason and no `[DONE]`, so that a failed stream does not look complete. */
  #fail(failure: Failure): string {
    this.#ended = true;
    return failFrames(failure);
  }
}

/** The last frame of a stream that failed. */
export function failFrames({ type, message, param, code }: Failure): string {
  return `data: ${JSON.stringify({ error: { type, message, param, code } })}\n\n`;
}

/** Folds the events of all choices into one completion. @throws Failure for output that is no text */
export function foldEvents(
  context: EncodeContext,
  choices: readonly (readonly TextEvent[])[],
): Json {
  const answers = choices.map(foldAnswer);
  const usage = sumOf(answers.map(({ finish }) => finish?.usage ?? null));
  return {
    id: newCompletionId(),
    object: 'text_completion',
    created: context.created,
    model: answers[0]?.model ?? context.request.model,
    choices: answers.map(({ blocks, finish }, index) => ({
      index,
      text: echoOf(context, index) + blocks.map(textOf).join(''),
      logprobs: null,
      finish_reason: finishReasonOf(finish?.reason ?? 'stop'),
    })),
    ...(usage !== null && { usage: openaiUsage(usage) }),
  };
}
