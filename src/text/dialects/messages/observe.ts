import { upstreamFailure } from '../../../routing/upstream-failure.ts';
import { isObject } from '../../../schema/untrusted.ts';
import type { Json, Usage } from '../../canonical.ts';
import { outputCounter } from '../count-output.ts';
import type { Observation } from '../dialect.ts';
import { counted, countsOf, NOTHING_COUNTED, usageOf } from './usage.ts';

export const markers = ['"message_start"', '"message_delta"', '"message_stop"', '"error"'] as const;

export const countOutput = outputCounter(/"content_block_delta"/g);

/** @param before what earlier events told: the input is counted at the start, the output at the end */
export function observe(event: Json, before: Usage | null = null): Observation {
  switch (event['type']) {
    case 'message_start': {
      const { message } = event;
      return isObject(message) ? observed(message['usage'], before) : {};
    }
    case 'message_delta':
      return observed(event['usage'], before);
    case 'message_stop':
      return { terminal: true };
    case 'error':
      return { failure: upstreamFailure(null, event) };
    default:
      return {};
  }
}

function observed(told: unknown, before: Usage | null): Observation {
  const usage = usageOf(counted(before ? countsOf(before) : NOTHING_COUNTED, told));
  return usage === null ? {} : { usage };
}

export function observeAnswer(body: Json): { readonly usage: Usage | null; readonly body: Json } {
  return { usage: usageOf(counted(NOTHING_COUNTED, body['usage'])), body };
}
