import { objectOf, textOf } from '../../../schema/untrusted.ts';
import { answerText } from '../../../store/answer-identity.ts';
import type { Json } from '../../canonical/canonical.ts';
import type { BlockQueue } from './block-queue.ts';
import { PendingCall } from './pending-call.ts';

/** The length of providers' ids. */
const ID_LENGTH = 24;

/** A fragment of arguments as text: some upstreams send the object itself, or null for none. */
function argumentsText(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : '';
}

/** Assembles tool calls from fragments, with or without index and id. */
export class CallAssembler {
  /** Whether the answer has a call. */
  hasCalls = false;
  readonly #blocks: BlockQueue;
  readonly #toolName: (wire: string) => string;
  readonly #byIndex = new Map<number, PendingCall>();
  readonly #byId = new Map<string, PendingCall>();
  #last: PendingCall | null = null;

  constructor(blocks: BlockQueue, toolName: (wire: string) => string) {
    this.#blocks = blocks;
    this.#toolName = toolName;
  }

  /**
   * @param fallbackIndex the index in the list of an answer that is not streamed
   * @returns the fault of the fragment; null for none
   */
  push(fragment: Json, fallbackIndex: number | null): string | null {
    const body = objectOf(fragment['function']);
    const index = typeof fragment['index'] === 'number' ? fragment['index'] : fallbackIndex;
    const id = textOf(fragment['id']);
    const name = textOf(body['name']);
    const json = argumentsText(body['arguments']);
    const call = this.#find(index, { id, name, json }) ?? this.#begin(index, id);
    this.#last = call;
    if (name !== '' && call.name === '') call.name = this.#toolName(name);
    return this.#append(call, json);
  }

  #append(call: PendingCall, json: string): string | null {
    // Some upstreams send null for no arguments.
    const isEmpty = call.json === '' && (json.trim() === '' || json.trim() === 'null');
    if (isEmpty || this.#isRepeated(call, json)) {
      this.#blocks.callChanged(call);
      return null;
    }
    if (call.closed) {
      return json.trim() === '' ? null : `more arguments for the call ${call.id} after its end`;
    }
    call.json += json;
    this.#blocks.callChanged(call);
    return null;
  }

  /** Whether a fragment repeats complete arguments: some upstreams end with a summary. */
  #isRepeated(call: PendingCall, json: string): boolean {
    return json !== '' && json === call.json && call.isComplete;
  }

  #find(
    index: number | null,
    { id, name, json }: { id: string; name: string; json: string },
  ): PendingCall | undefined {
    if (index === null) {
      if (id !== '') return this.#byId.get(id);
      return name === '' ? (this.#last ?? undefined) : undefined;
    }
    const known = this.#byIndex.get(index);
    if (known === undefined || name === '') return known;
    // Some upstreams send the same index for all calls.
    if (id !== '' && !known.isOurId && id !== known.id) return undefined;
    const isNext = id === '' && json.trim() !== '' && !this.#isRepeated(known, json);
    return isNext && known.isComplete ? undefined : known;
  }

  #begin(index: number | null, id: string): PendingCall {
    // Results are matched to calls by id, so that ids must be unique.
    const isOurId = id === '' || this.#byId.has(id);
    const call = new PendingCall(isOurId ? `call_${answerText(ID_LENGTH)}` : id, isOurId);
    this.hasCalls = true;
    if (index !== null) this.#byIndex.set(index, call);
    this.#byId.set(call.id, call);
    this.#blocks.addCall(call);
    return call;
  }
}
