import type { Json } from '../../canonical/canonical.ts';
import type { TextEvent } from '../../canonical/events.ts';
import type { PendingCall } from './pending-call.ts';
import { signatureOf } from './reasoning.ts';

export type ProseKind = 'text' | 'refusal' | 'reasoning';

/** An event of a block that has no number yet. */
type QueuedEvent = (block: number) => TextEvent;

/** A block of text, a refusal or reasoning. */
interface Prose {
  readonly kind: ProseKind;
  readonly queued: QueuedEvent[];
  /** Entries of `reasoning_details` for replay, by type, index and id. */
  readonly details: Map<string, Record<string, unknown>>;
}

/** A block that only chat has; complete when the next one begins. */
interface Native {
  readonly kind: 'native';
  readonly value: Json;
}

type Block = Prose | PendingCall | Native;

/** Adds a fragment of an object: texts of some properties are joined, of others the last value counts. */
export function joinFragment(
  whole: Record<string, unknown>,
  fragment: Json,
  joined: ReadonlySet<string>,
): void {
  for (const [name, value] of Object.entries(fragment)) {
    if (value === null) continue;
    const before = whole[name];
    const isJoined = joined.has(name) && typeof before === 'string' && typeof value === 'string';
    whole[name] = isJoined ? before + value : value;
  }
}

/** Properties of a detail whose fragments are joined; of others the last value counts. */
const JOINED = new Set(['text', 'summary', 'data', 'encrypted_content']);

/**
 * Emits blocks one after another, although their deltas may interleave: the deltas of the first open
 * block at once, those of later blocks when they become the first.
 */
export class BlockQueue {
  readonly #emit: (event: TextEvent) => void;
  readonly #provider: string;
  readonly #queue: Block[] = [];
  /** Number of the first block in the queue. */
  #number = 0;
  #isOpen = false;

  constructor(provider: string, emit: (event: TextEvent) => void) {
    this.#provider = provider;
    this.#emit = emit;
  }

  write(kind: ProseKind, text: string, logprobs: readonly unknown[] | null): void {
    this.#put(kind, (block) => deltaOf(kind, block, text, logprobs));
  }

  /** Adds an event to the current text block. */
  annotate(event: QueuedEvent): void {
    this.#put('text', event);
  }

  #put(kind: ProseKind, event: QueuedEvent): void {
    const prose = this.#prose(kind);
    if (this.#isOpen && this.#queue.length === 1) this.#emit(event(this.#number));
    else prose.queued.push(event);
  }

  /** Merges an entry of `reasoning_details` into the current reasoning block. */
  addDetail(detail: Json): void {
    const { details } = this.#prose('reasoning');
    const key = JSON.stringify([detail['type'], detail['index'], detail['id']]);
    const known = details.get(key);
    if (!known) {
      details.set(key, { ...detail });
      return;
    }
    joinFragment(known, detail, JOINED);
  }

  addNative(value: Json): void {
    this.#add({ kind: 'native', value });
  }

  addCall(call: PendingCall): void {
    this.#add(call);
  }

  /** Called when a call got its name or more of its arguments. */
  callChanged(call: PendingCall): void {
    if (this.#queue[0] !== call) return;
    if (this.#isOpen) this.#emitArguments(call);
    this.#advance();
  }

  /** Emits all queued blocks at the end of the stream. @returns false if a call has no name */
  end(): boolean {
    for (;;) {
      const [first] = this.#queue;
      if (first === undefined) return true;
      if (!this.#isOpen && !this.#open(first)) return false;
      this.#close(first);
    }
  }

  /** The last block of the queue if it is of a kind, else a new one. */
  #prose(kind: ProseKind): Prose {
    const last = this.#queue.at(-1);
    if (last?.kind === kind) return last;
    const prose: Prose = { kind, queued: [], details: new Map() };
    this.#add(prose);
    return prose;
  }

  #add(block: Block): void {
    this.#queue.push(block);
    this.#advance();
  }

  /** Opens the first block, and closes it if it is complete and others are queued. */
  #advance(): void {
    for (;;) {
      const [first] = this.#queue;
      if (first === undefined) return;
      if (!this.#isOpen && !this.#open(first)) return;
      if (this.#queue.length === 1) return;
      if (first.kind === 'call' && !first.isComplete) return;
      this.#close(first);
    }
  }

  #open(block: Block): boolean {
    const number = this.#number;
    if (block.kind === 'call') {
      if (block.name === '') return false;
      this.#isOpen = true;
      this.#emit({ type: 'tool-start', block: number, id: block.id, name: block.name });
      this.#emitArguments(block);
      return true;
    }
    this.#isOpen = true;
    if (block.kind === 'native') {
      this.#emit({ type: 'native', block: number, dialect: 'chat', value: block.value });
      return true;
    }
    this.#emit({ type: `${block.kind}-start`, block: number });
    for (const event of block.queued) this.#emit(event(number));
    return true;
  }

  #emitArguments(call: PendingCall): void {
    if (call.emitted === call.json.length) return;
    const json = call.emitted === 0 ? call.json : call.json.slice(call.emitted);
    call.emitted = call.json.length;
    this.#emit({ type: 'tool-delta', block: this.#number, json });
  }

  #close(block: Block): void {
    const number = this.#number;
    if (block.kind === 'call') {
      block.closed = true;
      this.#emit({ type: 'tool-end', block: number });
    } else if (block.kind === 'reasoning') {
      const signature = signatureOf([...block.details.values()], this.#provider);
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
