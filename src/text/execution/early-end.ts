import type { UpstreamResponse } from '../../upstream/response.ts';
import type { TextEvent, Usage } from '../canonical/events.ts';
import { MAX_DRAINED_BYTES } from '../relay/drains.ts';

export function isEnd({ type }: TextEvent): boolean {
  return type === 'finish' || type === 'error';
}

/**
 * The end of an answer that an emulation made before the provider's, such as that at a stop sequence. It is held back
 * until the provider reports the usage: the client would pay no reasoning otherwise. Time and bytes are limited.
 */
export class EarlyEnd {
  /** The usage in the provider's own end. */
  usage: Usage | null = null;
  /** Whether this server stopped reading before the provider's report. */
  isCut = false;
  readonly #exchange: Pick<UpstreamResponse, 'abort'>;
  readonly #timeout: number;
  #end: TextEvent | null = null;
  #timer: NodeJS.Timeout | undefined;
  #bytes = 0;

  /** @param timeout milliseconds for the provider's report */
  constructor(exchange: Pick<UpstreamResponse, 'abort'>, timeout: number) {
    this.#exchange = exchange;
    this.#timeout = timeout;
  }

  get isHeld(): boolean {
    return this.#end !== null;
  }

  hold(end: TextEvent): void {
    this.#end = end;
    this.#timer = setTimeout(() => this.#cut(), this.#timeout);
  }

  /** Counts bytes of the stream. */
  count(bytes: number): void {
    if (this.#end === null) return;
    this.#bytes += bytes;
    if (this.#bytes > MAX_DRAINED_BYTES) this.#cut();
  }

  #cut(): void {
    this.isCut = true;
    this.#exchange.abort();
  }

  release(): void {
    clearTimeout(this.#timer);
  }

  /** The events that end the answer; none where the provider's end was passed on. @param cutUsage without a report */
  events(cutUsage: Usage | null): readonly TextEvent[] {
    if (this.#end === null) return [];
    const usage = this.usage ?? (this.isCut ? cutUsage : null);
    if (usage === null) return [this.#end];
    if (this.#end.type === 'finish') return [{ ...this.#end, usage }];
    return [{ type: 'usage', usage }, this.#end];
  }
}
