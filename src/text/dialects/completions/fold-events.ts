import type { Json } from '../../canonical/canonical.ts';
import type { TextEvent, Usage } from '../../canonical/events.ts';
import type { EncodeContext } from '../dialect.ts';
import { openaiUsage, sumOf } from '../openai-usage.ts';
import { echoOf, finishReasonOf, newCompletionId, textOf } from './answer.ts';

/** Folds the events of all choices into one completion. @throws Failure for output that is no text */
export function foldEvents(
  context: EncodeContext,
  choices: readonly (readonly TextEvent[])[],
): Json {
  const usages: (Usage | null)[] = [];
  const folded = choices.map((events, index) => {
    let text = echoOf(context, index);
    let reason = 'stop';
    for (const event of events) {
      if (event.type === 'error') throw event.failure;
      text += textOf(event);
      if (event.type !== 'finish') continue;
      reason = finishReasonOf(event.reason);
      usages.push(event.usage);
    }
    return { index, text, logprobs: null, finish_reason: reason };
  });
  const start = choices[0]?.find((event) => event.type === 'start');
  const usage = sumOf(usages);
  return {
    id: newCompletionId(),
    object: 'text_completion',
    created: context.created,
    model: start?.model ?? context.request.model,
    choices: folded,
    ...(usage !== null && { usage: openaiUsage(usage) }),
  };
}
