import { tryParseJson } from '../../schema/json.ts';
import { objectOf, objectsOf } from '../../schema/untrusted.ts';
import type { TextEvent } from '../canonical/events.ts';
import type { Dialect, EventDecoder } from '../dialects/dialect.ts';
import { foldAnswer } from '../dialects/fold-answer.ts';
import { EventStream } from './sse.ts';

/** The answer that a stream has sent to a client, as far as it is kept. */
export class StreamedAnswer {
  readonly #decoder: EventDecoder | null;
  readonly #frames: EventStream;
  readonly #events: TextEvent[] = [];
  #text = '';
  /** Characters that may still come. */
  #space: number;

  /** @param limit characters of all events */
  constructor(dialect: Dialect, limit: number) {
    this.#space = limit;
    // The one format that no provider speaks, that of legacy completions, has nothing but text.
    this.#decoder = dialect.upstreamDialect
      ? null
      : dialect.decodeEvents({ provider: '', toolName: (name) => name }, (event) => {
          this.#events.push(event);
        });
    this.#frames = new EventStream((data) => {
      this.#decoder?.push(data);
      if (this.#decoder !== null) return;
      const [choice] = objectsOf(objectOf(tryParseJson(data))['choices']);
      this.#text += String(choice?.['text'] ?? '');
    });
  }

  /** Takes frames as they are sent. */
  push(frames: string | Buffer): void {
    this.#space -= frames.length;
    if (this.#space > 0) this.#frames.push(Buffer.from(frames));
  }

  /** The answer as JSON. */
  json(): string {
    const { blocks, finish } = foldAnswer([
      ...this.#events.filter(({ type }) => type !== 'error'),
      ...this.#missingEnd(),
    ]);
    const textOf = (kind: 'text' | 'refusal' | 'reasoning') =>
      blocks.flatMap((block) => (block.type === kind ? [block.text] : [])).join('\n');
    const calls = blocks.flatMap((block) =>
      block.type === 'call' ? [{ name: block.name, arguments: block.text }] : [],
    );
    return JSON.stringify({
      text: this.#text + textOf('text') + textOf('refusal'),
      reasoning: textOf('reasoning') || undefined,
      tool_calls: calls.length > 0 ? calls : undefined,
      finish_reason: finish?.reason ?? null,
    });
  }

  /** The end of a block that was cut, or during which the client left. */
  #missingEnd(): TextEvent[] {
    const last = this.#events.findLast(({ type }) => /-(?:start|end)$/.test(type));
    if (!last?.type.endsWith('-start')) return [];
    const type = last.type.replace('start', 'end');
    return [{ block: 0, signature: null, ...last, type } as TextEvent];
  }
}
