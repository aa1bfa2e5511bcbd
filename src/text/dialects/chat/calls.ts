import { objectOf, textOf } from '../../../schema/untrusted.ts';
import { randomText } from '../../../store/identifier.ts';
import type { Json } from '../../canonical.ts';
import type { Blocks, Call } from './blocks.ts';
import { JsonEnd } from './json-end.ts';

/** As long as those of providers. */
const ID_LENGTH = 24;

/** A piece of arguments as text: some upstreams give the object itself, or null for none. */
function pieceOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : '';
}

/** Puts the fragments of tool calls together, with or without index and id. */
export class Calls {
  /** Whether any was begun. */
  any = false;
  readonly #blocks: Blocks;
  readonly #toolName: (wire: string) => string;
  readonly #byIndex = new Map<number, Call>();
  readonly #byId = new Map<string, Call>();
  #last: Call | null = null;

  constructor(blocks: Blocks, toolName: (wire: string) => string) {
    this.#blocks = blocks;
    this.#toolName = toolName;
  }

  /**
   * @param fallback the place in a list that is whole, where every entry is a call of its own
   * @returns what is wrong with it, or null
   */
  push(fragment: Json, fallback: number | null): string | null {
    const body = objectOf(fragment['function']);
    const index = typeof fragment['index'] === 'number' ? fragment['index'] : fallback;
    const id = textOf(fragment['id']);
    const name = textOf(body['name']);
    const piece = pieceOf(body['arguments']);
    const call = this.#find(index, id, name, piece) ?? this.#begin(index, id);
    this.#last = call;
    if (name !== '' && call.name === '') call.name = this.#toolName(name);
    return this.#grow(call, piece);
  }

  #grow(call: Call, piece: string): string | null {
    // Nothing at all is also called null, where an object must come.
    const nothing = call.json === '' && (piece.trim() === '' || piece.trim() === 'null');
    if (nothing || this.#isRepeated(call, piece)) {
      this.#blocks.grown(call);
      return null;
    }
    if (call.closed) {
      return piece.trim() === '' ? null : `more arguments for the call ${call.id}, which was over`;
    }
    call.json += piece;
    this.#blocks.grown(call);
    return null;
  }

  /** Whether arguments that are whole came once more: some upstreams end with a summary. */
  #isRepeated(call: Call, piece: string): boolean {
    return piece !== '' && piece === call.json && call.end.reached(call.json);
  }

  #find(index: number | null, id: string, name: string, piece: string): Call | undefined {
    if (index === null) {
      if (id !== '') return this.#byId.get(id);
      return name === '' ? (this.#last ?? undefined) : undefined;
    }
    const known = this.#byIndex.get(index);
    if (known === undefined || name === '') return known;
    // Some upstreams give every call the same index.
    if (id !== '' && !known.isOurId && id !== known.id) return undefined;
    const again = id === '' && piece.trim() !== '' && !this.#isRepeated(known, piece);
    return again && known.end.reached(known.json) ? undefined : known;
  }

  #begin(index: number | null, id: string): Call {
    // Results are matched by id, so that no two calls can share one.
    const isOurId = id === '' || this.#byId.has(id);
    const call: Call = {
      kind: 'call',
      id: isOurId ? `call_${randomText(ID_LENGTH)}` : id,
      isOurId,
      name: '',
      json: '',
      told: 0,
      closed: false,
      end: new JsonEnd(),
    };
    this.any = true;
    if (index !== null) this.#byIndex.set(index, call);
    this.#byId.set(call.id, call);
    this.#blocks.call(call);
    return call;
  }
}
