import { upstreamFailure } from '../../../routing/upstream-failure.ts';
import { isObject, objectOf, textsOf } from '../../../schema/untrusted.ts';
import type { Usage } from '../../canonical/events.ts';
import { outputCounter } from '../count-output.ts';
import type { AnswerObserver, Observation } from '../dialect.ts';
import { usageOf } from './usage.ts';

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
        return isObject(message) ? observedUsage(message['usage'], before) : {};
      }
      case 'message_delta':
        return observedUsage(event['usage'], before);
      case 'message_stop':
        return { terminal: true };
      case 'error':
        return { failure: upstreamFailure(null, event) };
      default:
        return {};
    }
  },
  observeAnswer: (body) => ({ usage: usageOf(body['usage']), body }),
  finishReasons: (body) => textsOf([body['stop_reason'], objectOf(body['delta'])['stop_reason']]),
};

function observedUsage(reported: unknown, before: Usage | null): Observation {
  const usage = usageOf(reported, before);
  return usage === null ? {} : { usage };
}
