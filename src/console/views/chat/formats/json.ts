import type { ServerEvent } from '../../../api/events.ts';
import { parsed } from '../../../components/json.ts';
import type { AnswerError, Json, TokenUsage } from './answer.ts';

/** Reads values of JSON whose shape is not known to be right: another type is as good as none. */

export function objectOf(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Json)
    : {};
}

export function listOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.map(objectOf) : [];
}

export function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function countOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}

/** The JSON of an event's data; an empty object if it is none. */
export function jsonOf(data: string): Json {
  return objectOf(parsed(data));
}

/** The JSON of an event with its type; some servers have that in the event's name alone. */
export function typedJsonOf({ event, data }: ServerEvent): readonly [type: string, body: Json] {
  const body = jsonOf(data);
  return [stringOf(body['type']) || event, body];
}

/** An error in the shape that all formats have: message, type, code and param. */
export function errorOf(value: unknown): AnswerError {
  const error = objectOf(value);
  return {
    message: stringOf(error['message']) || 'The answer failed.',
    type: stringOf(error['type']) || 'unknown',
    code: stringOf(error['code']) || null,
    param: stringOf(error['param']) || null,
  };
}

/** Usage of OpenAI's formats, which differ in their names of input and output. */
export function openAiUsage(value: unknown, input: string, output: string): TokenUsage {
  const usage = objectOf(value);
  const inputDetails = objectOf(usage[`${input}_tokens_details`]);
  const outputDetails = objectOf(usage[`${output}_tokens_details`]);
  return {
    input: countOf(usage[`${input}_tokens`]),
    cached: countOf(inputDetails['cached_tokens']),
    cacheWritten: countOf(inputDetails['cache_write_tokens']),
    output: countOf(usage[`${output}_tokens`]),
    reasoning: countOf(outputDetails['reasoning_tokens']),
  };
}
