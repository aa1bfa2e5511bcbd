import { JsonEnd } from '../json-end.ts';

/** A function call, as far as it is received. */
export class PendingCall {
  readonly kind = 'call';
  readonly id: string;
  /** Whether the id was made here, because the provider's was missing or taken. */
  readonly isOurId: boolean;
  /** The client's name of the tool; empty until it is received. */
  name = '';
  /** The arguments so far. */
  json = '';
  /** Characters of the arguments that are emitted. */
  emitted = 0;
  closed = false;
  readonly #end = new JsonEnd();

  constructor(id: string, isOurId: boolean) {
    this.id = id;
    this.isOurId = isOurId;
  }

  /** Whether the arguments are a complete JSON object. */
  get isComplete(): boolean {
    return this.#end.isReached(this.json);
  }
}
