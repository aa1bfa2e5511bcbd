import type { Json, TextEvent } from '../../canonical.ts';
import type { DecodeContext } from '../dialect.ts';

/** Where the blocks of an answer go, one after another. */
export interface Blocks {
  readonly context: DecodeContext;
  readonly emit: (event: TextEvent) => void;
  /** The number of the next block. */
  next(): number;
  /** A call for the client was in the answer. */
  called(): void;
}

/** Reads one item of an answer. Whatever comes in an event is of any type. */
export interface ItemReader {
  /** Takes an event that belongs to the item, its first and its last left out. */
  take(type: string, event: Json): void;
  /** @param item as it is in the end; null where nobody said */
  finish(item: Json | null): void;
}

/** What of a whole text has not been sent yet; empty also where what was sent is another text. */
export function missingOf(whole: string, sent: string): string {
  return whole.length > sent.length && whole.startsWith(sent) ? whole.slice(sent.length) : '';
}
