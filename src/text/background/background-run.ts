import { EventEmitter, once } from 'node:events';
import { codedFailure } from '../../failure.ts';
import { tryParseJson } from '../../schema/json.ts';
import { isObject } from '../../schema/untrusted.ts';
import type { Document } from '../../store/document.ts';
import { LightAbortSignal } from '../../upstream/abort-signal.ts';
import type { Json } from '../canonical/canonical.ts';
import { namedFrame } from '../dialects/named-frame.ts';
import type { ResponseStream } from '../relay/guarded-stream.ts';
import { BLANK_LINE, dataIn } from '../relay/relay.ts';

/** Characters of the events of one response; an answer with more is aborted. */
const MAX_EVENTS = 64 * 2 ** 20;

/** A background response under way at this node. Its events are kept for clients that follow it. */
export class BackgroundRun implements ResponseStream {
  readonly clientDisconnect = new LightAbortSignal();
  readonly isBlocked = false;
  readonly events: Json[] = [];
  /** As it is in the store. */
  document: Document;
  isEnded = false;
  #size = 0;
  readonly #change: (response: Json) => Json;
  readonly #changes = new EventEmitter().setMaxListeners(0);

  constructor(document: Document, change: (response: Json) => Json) {
    this.document = document;
    this.#change = change;
  }

  get started(): boolean {
    return false;
  }

  setHeader(): void {}

  async drained(): Promise<void> {}

  /** @param document the cancelled response */
  cancel(document: Document): void {
    this.document = document;
    this.#abort('the response was cancelled');
  }

  #abort(reason: string): void {
    this.clientDisconnect.abort(codedFailure('upstream_overloaded', reason));
  }

  write(frames: string | Buffer): boolean {
    if (this.clientDisconnect.aborted) return true;
    this.#size += frames.length;
    if (this.#size > MAX_EVENTS) this.#abort('the answer is too long');
    for (const frame of frames.toString().split(BLANK_LINE)) {
      const event = frame === '' ? null : tryParseJson(dataIn(frame));
      // The client has had the first event since the response was queued.
      if (isObject(event) && event['type'] !== 'response.created') this.push(event);
    }
    return true;
  }

  /** Adds the event that ends the response, if it is not there. */
  pushEnd(response: Json): void {
    const type = `response.${response['status']}`;
    if (this.events.at(-1)?.['type'] !== type) this.push({ type, response });
  }

  push(event: Json): void {
    const { response } = event;
    const numbered = { ...event, sequence_number: this.events.length };
    this.events.push(
      isObject(response) ? { ...numbered, response: this.#change(response) } : numbered,
    );
    this.#changes.emit('change');
  }

  end(): void {
    this.isEnded = true;
    this.#changes.emit('change');
  }

  /** Frames of the events after one, as they come. @param after number of the last one that is known; -1 for none */
  async *follow(after: number, signal: AbortSignal): AsyncGenerator<string> {
    for (let next = after + 1; ; next += 1) {
      while (next >= this.events.length) {
        if (this.isEnded) return;
        await once(this.#changes, 'change', { signal }).catch(() => {});
        if (signal.aborted) return;
      }
      yield frameOf(this.events[next]!);
    }
  }
}

export const frameOf = (event: Json) => namedFrame(event as Json & { readonly type: string });
