import { answerId } from '../../../store/answer-identity.ts';
import type { Json } from '../../canonical/canonical.ts';
import type { TextEvent, Usage } from '../../canonical/events.ts';
import { truncatedAnswer } from '../answer-errors.ts';
import type { EncodeContext } from '../dialect.ts';
import { sumOf } from '../usage.ts';
import { AnswerParts, responseFields } from './answer-parts.ts';

/**
 * Folds the events of each answer into a response with a candidate for each.
 *
 * @throws Failure if an answer failed or has no end
 */
export function foldEvents(
  { request, estimatedUsage }: EncodeContext,
  choices: readonly (readonly TextEvent[])[],
): Json {
  let model = request.model;
  const usages: (Usage | null)[] = [];
  const candidates = choices.map((events, index) => {
    const answer = new AnswerParts();
    const parts: Json[] = [];
    let end: Json | null = null;
    for (const event of events) {
      if (event.type === 'error') throw event.failure;
      if (event.type === 'start') model = event.model ?? model;
      for (const part of answer.push(event)) append(parts, part);
      if (event.type !== 'finish') continue;
      end = answer.end(event.reason);
      usages.push(event.usage ?? estimatedUsage?.(index) ?? null);
    }
    if (end === null) throw truncatedAnswer();
    return { index, content: { role: 'model', parts }, ...end };
  });
  return { candidates, ...responseFields(model, answerId('response'), sumOf(usages)) };
}

/** Appends a part, or joins a text to the text before it. */
function append(parts: Json[], part: Json): void {
  const last = parts.at(-1);
  const isJoined =
    typeof part['text'] === 'string' &&
    typeof last?.['text'] === 'string' &&
    last['thought'] === part['thought'] &&
    !('thoughtSignature' in last);
  if (!isJoined) parts.push(part);
  else parts[parts.length - 1] = { ...last, ...part, text: `${last['text']}${part['text']}` };
}
