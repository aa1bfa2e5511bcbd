import type { RefObject } from 'preact';
import type { RequestRecord } from '../../../store/requests/record.ts';
import { eventsOf } from '../../api/events.ts';
import { Listeners, useChanges } from '../../api/listeners.ts';
import { ApiError, send, sendJson } from '../../api/request.ts';
import type { Model } from '../../api/resource.ts';
import { keepFirst, readKept } from '../../api/storage.ts';
import { KeptEvents, withoutPictures } from './events-kept.ts';
import type { AnswerError } from './formats/answer.ts';
import {
  type AnswerTurn,
  CONNECTION_LOST,
  NEW_SETTINGS,
  newAnswer,
  type Picture,
  type Settings,
  type Turn,
  type UserTurn,
} from './formats/conversation.ts';
import { FORMATS } from './formats/formats.ts';

/** Milliseconds between two renderings of a stream, and between two writes to the storage. */
const RENDER_MS = 40;
const KEEP_MS = 1000;

/** Requests of the account among which that of an answer is looked for. */
const RECENT_REQUESTS = 20;

/** What the view keeps, and a reload brings back. */
export interface ChatState {
  readonly settings: Settings;
  readonly turns: readonly Turn[];
  /** What the user types. */
  readonly draft: { readonly text: string; readonly pictures: readonly Picture[] };
  /** The user's message that is edited. */
  readonly edit: { readonly id: number; readonly text: string } | null;
}

const NEW_STATE: ChatState = {
  settings: NEW_SETTINGS,
  turns: [],
  draft: { text: '', pictures: [] },
  edit: null,
};

/** Version of the state's shape, in the key. */
const keyOf = (account: string) => `oriel.chat.2.${account}`;

/** The state before the reload. An answer that the reload ended is marked as stopped. */
function restore(account: string): ChatState {
  const kept = readKept<ChatState>(keyOf(account));
  if (kept === null) return NEW_STATE;
  const turns = kept.turns.map((turn) =>
    turn.type === 'answer' && turn.isStreaming
      ? { ...turn, isStreaming: false, isStopped: true }
      : turn,
  );
  return { ...NEW_STATE, ...kept, turns };
}

/** The conversation of an account. It outlives the view, so that an answer continues while another is open. */
export class ChatStore {
  state: ChatState;
  /** Whether a reload brings the conversation back. */
  isKept = true;
  readonly #account: string;
  readonly changes = new Listeners();
  #controller: AbortController | null = null;
  #keepTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(account: string) {
    this.#account = account;
    this.state = restore(account);
    addEventListener('pagehide', () => this.#keep());
  }

  get isStreaming(): boolean {
    return this.#controller !== null;
  }

  #set(change: Partial<ChatState>): void {
    this.state = { ...this.state, ...change };
    this.#keepTimer ??= setTimeout(() => this.#keep(), KEEP_MS);
    this.changes.call();
  }

  #keep(): void {
    clearTimeout(this.#keepTimer);
    this.#keepTimer = undefined;
    // Without raw events where the state is too large for the storage.
    const turns = this.state.turns.map((turn) =>
      turn.type === 'answer' ? { ...turn, events: [], eventsOmitted: turn.events.length } : turn,
    );
    const states = [this.state, { ...this.state, turns }];
    const isKept = keepFirst(keyOf(this.#account), states);
    if (isKept === this.isKept) return;
    this.isKept = isKept;
    this.changes.call();
  }

  changeSettings(change: Partial<Settings>): void {
    this.#set({ settings: { ...this.state.settings, ...change } });
  }

  changeDraft(change: Partial<ChatState['draft']>): void {
    this.#set({ draft: { ...this.state.draft, ...change } });
  }

  changeEdit(edit: ChatState['edit']): void {
    this.#set({ edit });
  }

  changeResult(turn: AnswerTurn, index: number, text: string): void {
    const results = [...turn.results];
    results[index] = text;
    this.#replace({ ...turn, results: Array.from(results, (result) => result ?? '') });
  }

  /** Removes all messages; the settings stay. */
  clear(): void {
    this.stop();
    this.#set({ turns: [], edit: null });
  }

  stop(): void {
    this.#controller?.abort();
  }

  /** Sends the draft. */
  send(model: Model): void {
    const { draft, turns } = this.state;
    const turn: UserTurn = { id: this.#nextId(), type: 'user', ...draft };
    this.#answer([...turns, turn], model, { draft: NEW_STATE.draft });
  }

  /** Sends the draft of another conversation with its settings, and continues it where there are no messages. */
  sendSame({ settings, turns, draft }: ChatState, model: Model): void {
    const own = this.state.turns;
    const first = own.length === 0 ? turns : own;
    this.#set({ settings: { ...settings, model: model.id }, turns: first, draft });
    this.send(model);
  }

  /** Sends an edited message, which replaces what follows. */
  sendEdit(model: Model): void {
    const { edit, turns } = this.state;
    const index = turns.findIndex(({ id }) => id === edit?.id);
    const turn = turns[index];
    if (!edit || turn?.type !== 'user') return;
    const kept = [...turns.slice(0, index), { ...turn, text: edit.text }];
    this.#answer(kept, model, { edit: null });
  }

  /** Sends the results of calls. */
  sendResults(model: Model): void {
    this.#answer(this.state.turns, model);
  }

  /** Asks for an answer again, without what follows it. */
  retry({ id }: AnswerTurn, model: Model): void {
    const { turns } = this.state;
    const index = turns.findIndex((turn) => turn.id === id);
    this.#answer(turns.slice(0, index), model);
  }

  #nextId(): number {
    return Math.max(0, ...this.state.turns.map(({ id }) => id)) + 1;
  }

  #replace(turn: Turn): void {
    const { turns } = this.state;
    this.#set({ turns: turns.map((one) => (one.id === turn.id ? turn : one)) });
  }

  /** @param change of the state, once the request is sent */
  #answer(turns: readonly Turn[], model: Model, change: Partial<ChatState> = {}): void {
    if (this.#controller) return;
    const { settings } = this.state;
    const body = FORMATS[settings.format].bodyOf({ settings, turns }, model);
    const turn = newAnswer(this.#nextId() + 1, settings, withoutPictures(body));
    this.#controller = new AbortController();
    this.#set({ ...change, turns: [...turns, turn] });
    const done = this.#stream(turn, body, this.#controller.signal);
    void done.then((last) => {
      this.#controller = null;
      this.#replace(last);
      return this.#addCredits(last);
    });
  }

  /** Adds the charge of an answer, which the server records when the request has ended. */
  async #addCredits({ id, requestId }: AnswerTurn): Promise<void> {
    if (!requestId) return;
    const path = `v1/requests?limit=${RECENT_REQUESTS}`;
    // Without it the answer is as good.
    const list = await sendJson<{ data: readonly Pick<RequestRecord, 'id' | 'credits'>[] }>(
      path,
    ).catch(() => null);
    const credits = list?.data.find((request) => request.id === requestId)?.credits;
    // A further attempt may have replaced the answer.
    const turn = this.state.turns.find((one) => one.id === id);
    if (credits == null || turn?.type !== 'answer' || turn.requestId !== requestId) return;
    this.#replace({ ...turn, credits });
  }

  /** Streams an answer. @returns the turn at its end, whatever that was */
  async #stream(first: AnswerTurn, body: object, signal: AbortSignal): Promise<AnswerTurn> {
    const { path, Reader } = FORMATS[first.format];
    const reader = new Reader();
    const events = new KeptEvents();
    const start = performance.now();
    const elapsed = () => Math.round(performance.now() - start);
    let turn = first;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const current = (): AnswerTurn => ({ ...turn, answer: reader.answer, ...events.kept });
    const render = () => {
      timer = undefined;
      this.#replace(current());
    };
    const end = (error: AnswerError | null, isStopped = false): AnswerTurn => {
      clearTimeout(timer);
      const last = current();
      const answer = { ...last.answer, error: last.answer.error ?? error };
      const replay = answer.isComplete && answer.error === null ? reader.replay() : null;
      if (answer.error) answer.error = { requestId: turn.requestId ?? null, ...answer.error };
      return { ...last, answer, replay, isStopped, isStreaming: false, duration: elapsed() };
    };
    try {
      const response = await send(path, { json: body, signal });
      turn = { ...turn, ...factsOf(response) };
      for await (const event of eventsOf(response)) {
        events.add(event, elapsed());
        reader.read(event);
        if (turn.firstToken === undefined && reader.answer.parts.length > 0) {
          turn = { ...turn, firstToken: elapsed() };
        }
        timer ??= setTimeout(render, RENDER_MS);
      }
      return end(reader.answer.isComplete ? null : CONNECTION_LOST);
    } catch (error) {
      if (signal.aborted) return end(null, true);
      if (!(error instanceof ApiError)) return end(CONNECTION_LOST);
      const { message, status, requestId } = error;
      turn = { ...turn, status, requestId };
      return end({ ...error, message });
    }
  }
}

function factsOf({ status, headers }: Response) {
  const leftOut = [headers.get('x-oriel-ignored'), headers.get('x-oriel-dropped')]
    .filter(Boolean)
    .join(', ');
  return { status, requestId: headers.get('x-request-id'), leftOut };
}

const stores = new Map<string, ChatStore>();

/** The store of an account; the component renders again when it changes. */
export function useChat(account: string): ChatStore {
  const store = stores.get(account) ?? new ChatStore(account);
  stores.set(account, store);
  useChanges(store.changes);
  return store;
}

/** A conversation, and what its messages do with it. */
export interface Talk {
  readonly chat: ChatStore;
  readonly model: Model;
  /** A conversation with another model that gets the same messages. */
  readonly also?: Pick<Talk, 'chat' | 'model'> | undefined;
  /** Why nothing can be sent; null if it can. */
  readonly obstacle: string | null;
  /** Whether nothing can be sent now. */
  readonly isBlocked: boolean;
  /** The field for the next message. */
  readonly field: RefObject<HTMLTextAreaElement | null>;
  /** Identifier of the answer whose request is shown. */
  readonly inspected: number | null;
  readonly onInspect: (id: number | null) => void;
}
