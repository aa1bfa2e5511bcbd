import type { Json } from '../../canonical/canonical.ts';
import type { TextEvent } from '../../canonical/events.ts';
import type { DecodeContext } from '../dialect.ts';

/** Receives the events of blocks. */
export interface BlockSink {
  readonly context: DecodeContext;
  readonly emit: (event: TextEvent) => void;
  /** The number of the next block. */
  nextBlock(): number;
  /** Notes that the answer has a tool call. */
  noteCall(): void;
}

/** Decodes one item of an answer from untrusted events. */
export interface ItemDecoder {
  /** Decodes an event of the item other than `added` and `done`. */
  push(type: string, event: Json): void;
  /** @param item the final item; null if the answer does not have it */
  finish(item: Json | null): void;
}

/** The rest of a complete text after the part that was sent; empty if the texts differ. */
export function missingOf(whole: string, sent: string): string {
  return whole.length > sent.length && whole.startsWith(sent) ? whole.slice(sent.length) : '';
}
