import { Listeners, useChanges } from '../../api/listeners.ts';
import { keepFirst, readKept } from '../../api/storage.ts';
import { type Draft, EMPTY_DRAFT, KINDS, type Kind } from './draft.ts';

/** A request whose acknowledgement has not come yet. */
interface Submission {
  /** The request as text: another request gets another key. */
  readonly request: string;
  readonly key: string;
}

interface CreateState {
  readonly drafts: Readonly<Record<Kind, Draft>>;
  /** Drafts that were replaced by a button, until another is sent. */
  readonly replaced: Readonly<Partial<Record<Kind, Draft>>>;
  readonly submissions: Readonly<Partial<Record<Kind, Submission>>>;
  /** Drafts of the tasks that this tab created, by identifier; the oldest first. */
  readonly sent: Readonly<Record<string, Draft>>;
}

const NEW_STATE: CreateState = {
  drafts: { image: EMPTY_DRAFT, video: EMPTY_DRAFT, audio: EMPTY_DRAFT },
  replaced: {},
  submissions: {},
  sent: {},
};

/** Drafts of tasks that are kept. */
const MAX_SENT = 60;

/** Version of the state's shape, in the key. */
const keyOf = (account: string) => `oriel.create.2.${account}`;

/** What the view keeps over a reload and over signing in again. */
export class CreateStore {
  readonly #account: string;
  readonly changes = new Listeners();
  state: CreateState;

  constructor(account: string) {
    this.#account = account;
    this.state = restore(account);
  }

  change(kind: Kind, changed: Partial<Draft>): void {
    const drafts = { ...this.state.drafts, [kind]: { ...this.state.drafts[kind], ...changed } };
    this.#set({ ...this.state, drafts });
  }

  /** Replaces a draft, which can be brought back. */
  replace(kind: Kind, draft: Draft): void {
    const { drafts, replaced } = this.state;
    this.#set({
      ...this.state,
      drafts: { ...drafts, [kind]: draft },
      replaced: { ...replaced, [kind]: drafts[kind] },
    });
  }

  /** Exchanges a draft for the one that it replaced. */
  bringBack(kind: Kind): void {
    const before = this.state.replaced[kind];
    if (before) this.replace(kind, before);
  }

  /** Changes fields of a draft. */
  fill(kind: Kind, values: Readonly<Record<string, string>>): void {
    this.change(kind, { values: { ...this.state.drafts[kind].values, ...values } });
  }

  /**
   * The Idempotency-Key of a request. It stays the same until the server has acknowledged the request, also
   * after a lost connection or a reload, so that no request is paid twice.
   */
  keyOf(kind: Kind, request: string): string {
    const known = this.state.submissions[kind];
    if (known?.request === request) return known.key;
    const key = newKey();
    const submissions = { ...this.state.submissions, [kind]: { request, key } };
    this.#set({ ...this.state, submissions });
    return key;
  }

  /** Notes that the server created a task of a draft. */
  acknowledge(kind: Kind, task: string, draft: Draft): void {
    const { [kind]: _, ...submissions } = this.state.submissions;
    const { [kind]: __, ...replaced } = this.state.replaced;
    const sent = Object.entries({ ...this.state.sent, [task]: draft }).slice(-MAX_SENT);
    this.#set({ ...this.state, submissions, replaced, sent: Object.fromEntries(sent) });
  }

  #set(state: CreateState): void {
    this.state = state;
    // What was not sent is worth more than what was.
    keepFirst(keyOf(this.#account), [state, { ...state, sent: {} }]);
    this.changes.call();
  }
}

function restore(account: string): CreateState {
  const state = { ...NEW_STATE, ...readKept<CreateState>(keyOf(account)) };
  const draftOf = (kind: Kind) => [kind, { ...EMPTY_DRAFT, ...state.drafts[kind] }] as const;
  return { ...state, drafts: Object.fromEntries(KINDS.map(draftOf)) as CreateState['drafts'] };
}

/** `crypto.randomUUID` exists over HTTPS and on localhost only. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

const stores = new Map<string, CreateStore>();

/** The store of an account; the component renders again when it changes. */
export function useCreateStore(account: string): CreateStore {
  const store = stores.get(account) ?? new CreateStore(account);
  stores.set(account, store);
  useChanges(store.changes);
  return store;
}
