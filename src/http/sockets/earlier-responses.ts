import { objectsOf } from '../../schema/untrusted.ts';
import type { TextCall } from '../../text/execution/execution.ts';

type Earlier = NonNullable<TextCall['earlier']>;
type StoredResponse = Parameters<Earlier['keep']>[0];

/** What the earlier responses of all connections take. */
export interface EarlierShelf {
  bytes: number;
  readonly responses: Set<EarlierResponses>;
  /** Bytes that they may take in all, and those of one connection. */
  readonly limits: () => { readonly memory: number; readonly memoryPerSocket: number };
}

/** The last responses of one connection, with which it can continue them without the store. */
export class EarlierResponses implements Earlier {
  readonly #shelf: EarlierShelf;
  /** Texts in JSON by identifier, the least recently used first. */
  readonly #texts = new Map<string, string>();
  bytes = 0;

  constructor(shelf: EarlierShelf) {
    this.#shelf = shelf;
  }

  find(id: string): StoredResponse | undefined {
    const text = this.#take(id);
    if (text === undefined) return undefined;
    this.#put(id, text);
    return JSON.parse(text) as StoredResponse;
  }

  keep(stored: StoredResponse): void {
    const id = String(stored.response['id']);
    // Some providers give the identifier of the response before.
    const before = stored.previous === id ? this.find(id) : undefined;
    const earlier = before ? [...before.input, ...objectsOf(before.response['output'])] : [];
    const joined = { input: [...earlier, ...stored.input], previous: before?.previous ?? null };
    this.#take(id);
    this.#put(id, JSON.stringify(stored.previous === id ? { ...stored, ...joined } : stored));
    const { responses, limits } = this.#shelf;
    const { memory, memoryPerSocket } = limits();
    responses.add(this);
    while (this.bytes > memoryPerSocket) this.#removeOldest();
    while (this.#shelf.bytes > memory) {
      const largest = [...responses].reduce((one, other) =>
        one.bytes < other.bytes ? other : one,
      );
      largest.#removeOldest();
    }
  }

  removeAll(): void {
    while (this.#texts.size > 0) this.#removeOldest();
    this.#shelf.responses.delete(this);
  }

  #removeOldest(): void {
    this.#take(this.#texts.keys().next().value!);
  }

  #put(id: string, text: string): void {
    this.#texts.set(id, text);
    this.bytes += text.length;
    this.#shelf.bytes += text.length;
  }

  #take(id: string): string | undefined {
    const text = this.#texts.get(id);
    this.#texts.delete(id);
    this.bytes -= text?.length ?? 0;
    this.#shelf.bytes -= text?.length ?? 0;
    return text;
  }
}
