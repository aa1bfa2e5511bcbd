import type { Json, Usage } from '../canonical.ts';
import type { Observation } from '../dialect.ts';
import { upstreamFailure } from '../upstream-failure.ts';
import { usageOf, withIntegers } from './usage.ts';

/**
 * Most chunks hold none of these, though many hold `"usage":null` and `"finish_reason":null`. Inside
 * a text, quotes are escaped, so that no answer can speak like this.
 */
export const markers: readonly string[] = [
  '"usage":{',
  '"usage": {',
  '"finish_reason":"',
  '"finish_reason": "',
  '"error"',
];

/** Whether a chunk tells of a failure: in its own words, or as one of its choices. */
export function isFailed(chunk: Json): boolean {
  const error = chunk['error'];
  if (error !== undefined && error !== null && error !== false && error !== '') return true;
  return chunk['object'] === 'error';
}

/** The usage of an answer or a chunk, and what has the six integers of interface part 2.2 in it. */
function usageWithin(own: Json): { readonly usage: Usage | null; readonly body: Json } {
  const told = own['usage'];
  const usage = usageOf(told);
  if (usage === null) return { usage, body: own };
  const whole = withIntegers(told as Json, usage);
  return { usage, body: whole === told ? own : { ...own, usage: whole } };
}

export function observe(chunk: Json): Observation {
  if (isFailed(chunk)) return { failure: upstreamFailure(null, chunk) };
  const choices: readonly unknown[] = Array.isArray(chunk['choices']) ? chunk['choices'] : [];
  for (const choice of choices as readonly (Json | null)[]) {
    const error = choice?.['error'];
    if (typeof error === 'object' && error !== null) {
      return { failure: upstreamFailure(null, { error }) };
    }
  }
  const { usage, body } = usageWithin(chunk);
  const finished = (choices as readonly (Json | null)[]).some((choice) => {
    return typeof choice?.['finish_reason'] === 'string';
  });
  return {
    ...(usage !== null && { usage }),
    ...(body !== chunk && { rewritten: body }),
    ...(finished && { terminal: true }),
    ...(usage !== null && choices.length === 0 && { usageOnly: true }),
  };
}

export const observeAnswer = usageWithin;
