import type { Json } from '../../canonical/canonical.ts';
import type { FinishReason, TextEvent, Usage } from '../../canonical/events.ts';
import { untranslatableAnswer } from '../answer-errors.ts';
import { finishReasonOf as chatReasonOf, newCompletionId } from '../chat/answer.ts';
import { failFrames } from '../chat/encode-events.ts';
import { Choice, ChoicesEncoder, type CourseEvent } from '../choices-encoder.ts';
import type { EncodeContext } from '../dialect.ts';
import { type AnswerBlock, foldAnswer } from '../fold-answer.ts';
import { openaiUsage, sumOf } from '../usage.ts';
import { promptsOf } from './decode-request.ts';
import type { CompletionsRequest } from './fields.ts';

/** The format has no calls. */
function finishReasonOf(reason: FinishReason): string {
  return reason === 'tool-calls' ? 'stop' : chatReasonOf(reason);
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
    case 'call':
    case 'tool-start':
      throw untranslatableAnswer('completions', 'a tool call');
    default:
      return '';
  }
}

const DONE = 'data: [DONE]\n\n';

/** One of the answers; it begins with its prompt where the client asks for an echo. */
class CompletionsChoice extends Choice {
  echo: string;

  constructor(index: number, echo: string) {
    super(index);
    this.echo = echo;
  }
}

/** Encodes an answer as chunks of text, each of one choice. */
export class CompletionsEncoder extends ChoicesEncoder<CompletionsChoice> {
  readonly #id = newCompletionId('cmpl');
  protected readonly fail = failFrames;

  protected newChoice(index: number): CompletionsChoice {
    return new CompletionsChoice(index, echoOf(this.context, index));
  }

  protected encode(event: CourseEvent, choice: CompletionsChoice): string {
    const text = choice.echo + textOf(event);
    return text === '' ? '' : this.#chunk(choice, text, null);
  }

  protected finish(
    { reason }: TextEvent & { readonly type: 'finish' },
    choice: CompletionsChoice,
    isLast: boolean,
  ): string {
    const frames = this.#chunk(choice, choice.echo, finishReasonOf(reason));
    if (!isLast) return frames;
    const usage = this.usageOfAll();
    const isSent = this.context.request.includeUsage && usage !== null;
    return frames + (isSent ? this.#frame([], usage) : '') + DONE;
  }

  #chunk(choice: CompletionsChoice, text: string, finish_reason: string | null): string {
    choice.echo = '';
    return this.#frame([{ index: choice.index, text, logprobs: null, finish_reason }], null);
  }

  #frame(choices: readonly Json[], usage: Usage | null): string {
    const { request, created } = this.context;
    const frame = {
      id: this.#id,
      object: 'text_completion',
      created,
      model: this.model,
      choices,
      // With include_usage, `usage` is null in all chunks but the last.
      ...(request.includeUsage && { usage: usage && openaiUsage(usage) }),
    };
    return `data: ${JSON.stringify(frame)}\n\n`;
  }
}

/** Folds the events of all choices into one completion. @throws Failure for output that is no text */
export function foldEvents(
  context: EncodeContext,
  choices: readonly (readonly TextEvent[])[],
): Json {
  const answers = choices.map(foldAnswer);
  const usage = sumOf(answers.map(({ finish }) => finish?.usage ?? null));
  return {
    id: newCompletionId('cmpl'),
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
