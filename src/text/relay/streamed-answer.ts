import { tryParseJson } from '../../schema/json.ts';
import { objectOf, objectsOf } from '../../schema/untrusted.ts';
import type { TextEvent } from '../canonical/events.ts';
import type { Dialect, EventDecoder } from '../dialects/dialect.ts';
import { EventStream } from './sse.ts';

/** Calls of tools that are kept. */
const MAX_CALLS = 100;

/** The answer that a stream has sent to a client, as far as it is kept: text, reasoning and calls. */
export class StreamedAnswer {
  readonly #limit: number;
  readonly #decoder: EventDecoder | null;
  readonly #events: EventStream;
  #text = '';
  #reasoning = '';
  readonly #calls: { name: string; arguments: string }[] = [];
  #finish: string | null = null;
  #isDamaged = false;

  /** @param limit characters of text, of reasoning and of each call */
  constructor(dialect: Dialect, limit: number) {
    this.#limit = limit;
    const context = { provider: '', toolName: (name: string) => name };
    // The one format that no provider speaks, that of legacy completions, has nothing but text.
    this.#decoder = dialect.upstreamDialect
      ? null
      : dialect.decodeEvents(context, (event) => this.#add(event));
    this.#events = new EventStream((data) => {
      if (this.#decoder !== null) {
        this.#decoder.push(data);
        return;
      }
      const [choice] = objectsOf(objectOf(tryParseJson(data))['choices']);
      this.#text = this.#joined(this.#text, String(choice?.['text'] ?? ''));
    });
  }

  /** Takes frames as they are sent. */
  push(frames: string | Buffer): void {
    if (this.#isDamaged) return;
    try {
      this.#events.push(Buffer.from(frames));
    } catch {
      this.#isDamaged = true;
    }
  }

  /** The answer as JSON; null where nothing was sent. */
  json(): string | null {
    const [text, reasoning, calls] = [this.#text, this.#reasoning, this.#calls];
    if (text === '' && reasoning === '' && calls.length === 0) return null;
    return JSON.stringify({
      text,
      ...(reasoning !== '' && { reasoning }),
      ...(calls.length > 0 && { tool_calls: calls }),
      finish_reason: this.#finish,
    });
  }

  #add(event: TextEvent): void {
    switch (event.type) {
      case 'text-delta':
      case 'refusal-delta':
        this.#text = this.#joined(this.#text, event.text);
        break;
      case 'reasoning-delta':
        this.#reasoning = this.#joined(this.#reasoning, event.text);
        break;
      case 'tool-start':
        if (this.#calls.length < MAX_CALLS) this.#calls.push({ name: event.name, arguments: '' });
        break;
      case 'tool-delta': {
        const call = this.#calls.at(-1);
        if (call) call.arguments = this.#joined(call.arguments, event.json);
        break;
      }
      case 'finish':
        this.#finish = event.reason;
        break;
    }
  }

  #joined(text: string, more: string): string {
    return text.length >= this.#limit ? text : text + more;
  }
}
