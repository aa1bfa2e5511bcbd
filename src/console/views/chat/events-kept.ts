import type { ServerEvent } from '../../api/events.ts';
import type { RawEvent } from './formats/conversation.ts';

/** Events that are kept of the start and of the end of a stream, and characters of each. */
export const KEPT_FIRST = 200;
const KEPT_LAST = 100;
const KEPT_CHARACTERS = 2000;

/** The events of a stream for the inspector: those in the middle of a long one are counted only. */
export class KeptEvents {
  readonly #events: RawEvent[] = [];
  #omitted = 0;

  add({ event, data }: ServerEvent, at: number): void {
    const isLong = data.length > KEPT_CHARACTERS;
    const kept = isLong ? `${data.slice(0, KEPT_CHARACTERS)}…` : data;
    this.#events.push({ at, event, data: kept });
    if (this.#events.length <= KEPT_FIRST + KEPT_LAST) return;
    this.#events.splice(KEPT_FIRST, 1);
    this.#omitted += 1;
  }

  get kept() {
    return { events: [...this.#events], eventsOmitted: this.#omitted };
  }
}

const BINARY = /^(?:data:[^,]{1,100},)?[A-Za-z0-9+/=]{1000,}$/;

/** A body without the bytes of its pictures, to be shown and kept. */
export function withoutPictures<Value>(value: Value): Value {
  if (typeof value === 'string') {
    return (BINARY.test(value) ? `${value.slice(0, 40)}…` : value) as Value;
  }
  if (Array.isArray(value)) return value.map(withoutPictures) as Value;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, one]) => [name, withoutPictures(one)]);
  return Object.fromEntries(entries) as Value;
}
