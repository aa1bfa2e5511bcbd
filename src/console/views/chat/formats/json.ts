import type { ServerEvent } from '../../../api/events.ts';
import { parsed } from '../../../components/json.ts';

/** JSON of a server that is not checked. */
export type Json = Readonly<Record<string, unknown>>;

/** Reads values of JSON whose shape is not known to be right: another type is as good as none. */

export function objectOf(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Json)
    : {};
}

export function listOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.map(objectOf) : [];
}

export const stringOf = (value: unknown): string => (typeof value === 'string' ? value : '');

export function countOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}

/** The JSON of an event's data; an empty object if it is none. */
export const jsonOf = (data: string): Json => objectOf(parsed(data));

/** The JSON of an event with its type; some servers have that in the event's name alone. */
export function typedJsonOf({ event, data }: ServerEvent): readonly [type: string, body: Json] {
  const body = jsonOf(data);
  return [stringOf(body['type']) || event, body];
}
