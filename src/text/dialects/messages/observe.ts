import { upstreamFailure } from '../../../routing/upstream-failure.ts';
import { isObject, objectOf, textsOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';
import type { Usage } from '../../canonical/events.ts';
import { outputCounter } from '../count-output.ts';
import type { AnswerObserver, Observation } from '../dialect.ts';
import { repairCounts } from '../usage.ts';
import { usageObject, usageOf } from './usage.ts';

/** Pings and `message_start` come before errors as well. */
const OUTPUT = /"type"\s*:\s*"(?:content_block|message_delta|message_stop)/;

export const observer: AnswerObserver = {
  markers: ['"message_start"', '"message_delta"', '"message_stop"', '"error"'],
  countOutput: outputCounter(/"content_block_delta"/g),
  hasOutput: (frames) => OUTPUT.test(frames),
  // message_start has the input tokens, message_delta the output tokens.
  observe(event, before = null) {
    switch (event['type']) {
      case 'message_start': {
        const { message } = event;
        return isObject(message) ? observedUsage(event, message['usage'], before) : {};
      }
      case 'message_delta':
        return observedUsage(event, event['usage'], before);
      case 'message_stop':
        return { terminal: true };
      case 'error':
        return { failure: upstreamFailure(null, event) };
      default:
        return {};
    }
  },
  observeAnswer: (body) => ({
    usage: observedUsage(body, body['usage'], null).usage ?? null,
    body,
  }),
  finishReasons: (body) => textsOf([body['stop_reason'], objectOf(body['delta'])['stop_reason']]),
};

function observedUsage(body: Json, reported: unknown, before: Usage | null): Observation {
  const usage = usageOf(reported, before);
  const isRepaired = isObject(reported) && repairCounts(reported, usageObject(usage));
  return { ...(usage !== null && { usage }), ...(isRepaired && { rewritten: body }) };
}
