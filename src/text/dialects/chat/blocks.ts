import type { Json, TextEvent } from '../../canonical.ts';
import type { JsonEnd } from './json-end.ts';
import { ownSignature } from './reasoning.ts';

export type ProseKind = 'text' | 'refusal' | 'reasoning';

/** An event of a block whose number is not known yet. */
type Waiting = (block: number) => TextEvent;

/** What is written, not called. */
interface Prose {
  readonly kind: ProseKind;
  readonly waiting: Waiting[];
  /** Of reasoning: what its provider wants back with it. */
  readonly details: Map<string, Record<string, unknown>>;
}

/** A call of a function, as far as it has come. */
export interface Call {
  readonly kind: 'call';
  id: string;
  /** Whether the provider gave none, so that it is ours. */
  readonly isOurId: boolean;
  /** As the client calls the tool; empty where it is not told yet. */
  name: string;
  json: string;
  /** Characters of the JSON that were told. */
  told: number;
  closed: boolean;
  readonly end: JsonEnd;
}

/** A block that only this dialect has a word for; whole when the next one begins. */
interface Native {
  readonly kind: 'native';
  readonly value: Json;
}

type Block = Prose | Call | Native;

/** Fragments of one detail that are put together; of other properties the last one counts. */
const GROWING = new Set(['text', 'summary', 'data', 'encrypted_content']);

/**
 * Tells blocks one after another, however their pieces come. The first that is not over is told as it
 * comes; what belongs to later ones waits.
 */
export class Blocks {
  readonly #emit: (event: TextEvent) => void;
  readonly #provider: string;
  readonly #queue: Block[] = [];
  #number = 0;
  #isOpen = false;

  constructor(provider: string, emit: (event: TextEvent) => void) {
    this.#provider = provider;
    this.#emit = emit;
  }

  write(kind: ProseKind, text: string, logprobs: readonly unknown[] | null): void {
    const prose = this.#prose(kind);
    if (this.#isOpen && this.#queue.length === 1) {
      this.#emit(deltaOf(kind, this.#number, text, logprobs));
    } else {
      prose.waiting.push((block) => deltaOf(kind, block, text, logprobs));
    }
  }

  /** Adds an event to the text that is being written. */
  annotate(event: Waiting): void {
    const prose = this.#prose('text');
    if (this.#isOpen && this.#queue.length === 1) this.#emit(event(this.#number));
    else prose.waiting.push(event);
  }

  /** Adds to what is to be sent back with the reasoning that is being written. */
  detail(detail: Json): void {
    const { details } = this.#prose('reasoning');
    const key = JSON.stringify([detail['type'], detail['index'], detail['id']]);
    const known = details.get(key);
    if (!known) {
      details.set(key, { ...detail });
      return;
    }
    for (const [name, value] of Object.entries(detail)) {
      const before = known[name];
      if (value === null) continue;
      known[name] =
        GROWING.has(name) && typeof before === 'string' && typeof value === 'string'
          ? before + value
          : value;
    }
  }

  native(value: Json): void {
    this.#add({ kind: 'native', value });
  }

  call(call: Call): void {
    this.#add(call);
  }

  /** A call has got its name or more of its arguments. */
  grown(call: Call): void {
    if (this.#queue[0] !== call) return;
    if (this.#isOpen) this.#tellArguments(call);
    this.#advance();
  }

  /** Everything has come. False where a call never got its name. */
  end(): boolean {
    for (;;) {
      const [first] = this.#queue;
      if (first === undefined) return true;
      if (!this.#isOpen && !this.#open(first)) return false;
      this.#close(first);
    }
  }

  /** The prose at the end of the queue, or a new one. */
  #prose(kind: ProseKind): Prose {
    const last = this.#queue.at(-1);
    if (last?.kind === kind) return last;
    const prose: Prose = { kind, waiting: [], details: new Map() };
    this.#add(prose);
    return prose;
  }

  #add(block: Block): void {
    this.#queue.push(block);
    this.#advance();
  }

  /** Opens the first block, and closes it where it is over and others wait. */
  #advance(): void {
    for (;;) {
      const [first] = this.#queue;
      if (first === undefined) return;
      if (!this.#isOpen && !this.#open(first)) return;
      if (this.#queue.length === 1) return;
      if (first.kind === 'call' && !first.end.reached(first.json)) return;
      this.#close(first);
    }
  }

  #open(block: Block): boolean {
    const number = this.#number;
    if (block.kind === 'call') {
      if (block.name === '') return false;
      this.#isOpen = true;
      this.#emit({ type: 'tool-start', block: number, id: block.id, name: block.name });
      this.#tellArguments(block);
      return true;
    }
    this.#isOpen = true;
    if (block.kind === 'native') {
      this.#emit({ type: 'native', block: number, dialect: 'chat', value: block.value });
      return true;
    }
    this.#emit({ type: `${block.kind}-start`, block: number });
    for (const event of block.waiting) this.#emit(event(number));
    return true;
  }

  #tellArguments(call: Call): void {
    if (call.told === call.json.length) return;
    const json = call.told === 0 ? call.json : call.json.slice(call.told);
    call.told = call.json.length;
    this.#emit({ type: 'tool-delta', block: this.#number, json });
  }

  #close(block: Block): void {
    const number = this.#number;
    if (block.kind === 'call') {
      block.closed = true;
      this.#emit({ type: 'tool-end', block: number });
    } else if (block.kind === 'reasoning') {
      const signature = ownSignature([...block.details.values()], this.#provider);
      this.#emit({ type: 'reasoning-end', block: number, signature });
    } else if (block.kind !== 'native') {
      this.#emit({ type: `${block.kind}-end`, block: number });
    }
    this.#queue.shift();
    this.#number += 1;
    this.#isOpen = false;
  }
}

function deltaOf(
  kind: ProseKind,
  block: number,
  text: string,
  logprobs: readonly unknown[] | null,
): TextEvent {
  if (kind !== 'text') return { type: `${kind}-delta`, block, text };
  return logprobs === null
    ? { type: 'text-delta', block, text }
    : { type: 'text-delta', block, text, logprobs };
}
