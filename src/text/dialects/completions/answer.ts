import { randomText } from '../../../store/identifier.ts';
import type { Json } from '../../canonical/canonical.ts';
import type { FinishReason, TextEvent } from '../../canonical/events.ts';
import { untranslatableAnswer, untranslatableBlock } from '../answer-errors.ts';
import type { EncodeContext } from '../dialect.ts';
import { promptsOf } from './decode-request.ts';
import type { CompletionsRequest } from './fields.ts';

const ID_LENGTH = 29;

/** An id in the form of OpenAI's. */
export function newCompletionId(): string {
  return `cmpl-${randomText(ID_LENGTH)}`;
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

export function finishReasonOf(reason: FinishReason): string {
  return REASONS[reason];
}

/** The text with which a choice begins: its prompt where the client asks for an echo. */
export function echoOf({ request }: EncodeContext, choice: number): string {
  const body = request.body as Json & CompletionsRequest;
  if (body.echo !== true) return '';
  return promptsOf(body)[Math.floor(choice / (body.n ?? 1))]!;
}

/**
 * The text of an event. Reasoning and sources of citations have no field in this format.
 *
 * @throws Failure for output that is no text
 */
export function textOf(event: TextEvent): string {
  switch (event.type) {
    case 'text-delta':
    case 'refusal-delta':
      return event.text;
    case 'native':
      throw untranslatableBlock('completions', event);
    case 'tool-start':
      throw untranslatableAnswer('completions', 'a tool call');
    default:
      return '';
  }
}
