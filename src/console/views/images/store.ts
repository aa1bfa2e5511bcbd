import { Listeners } from '../../api/listeners.ts';
import { ApiError, apiErrorOf, isAborted, upload } from '../../api/request.ts';
import { type Outcome, readAnswer } from './answer.ts';
import { type Chosen, sentName } from './intake.ts';
import { type Draft, type Operation, sentFields } from './operations.ts';

/** An operation with all that is sent beside the image. */
export interface Job extends Draft {
  readonly operation: Operation;
  /** Equal for jobs that give equal results. */
  readonly key: string;
}

export interface Result extends Outcome {
  readonly job: Job;
}

/** A file of the list. */
export interface Item extends Chosen {
  readonly id: number;
  readonly state: 'idle' | 'waiting' | 'sending' | 'working' | 'failed';
  /** Share that has been sent. */
  readonly share: number;
  readonly error: ApiError | null;
  /** The last result, which stays until the next one is there. */
  readonly result: Result | null;
}

export interface ImagesState {
  readonly items: readonly Item[];
  /** The file that is shown, by its identifier. */
  readonly shown: number | null;
  /** Why the remaining files were not sent. */
  readonly halt: ApiError | null;
  /** Milliseconds since the epoch until which the server asked to wait. */
  readonly pausedUntil: number | null;
}

/** Files that are sent at once; browsers open six connections to a server. */
const CONCURRENCY = 3;

/** Milliseconds between two renderings of progress. */
const RENDER_MS = 40;

/** Files in the list. The command line takes any number. */
export const MAX_ITEMS = 1000;

/** The server's limit, so that a larger file is not sent in vain. */
const MAX_FILE_BYTES = 30 * 1024 * 1024;

/** Milliseconds to wait after 429 and 503 without Retry-After, and how often for one file. */
const PAUSE_MS = 5000;
const MAX_PAUSES = 10;

const NEW_STATE: ImagesState = { items: [], shown: null, halt: null, pausedUntil: null };

export function jobOf(operation: Operation, { values, files }: Draft): Job {
  const named = Object.entries(files).flatMap(([name, list]) =>
    list.map((file) => [name, file.name, file.size, file.lastModified]),
  );
  const key = JSON.stringify([operation.name, sentFields(operation, values), named]);
  return { operation, values, files, key };
}

export function isBusy({ state }: Item): boolean {
  return state === 'waiting' || state === 'sending' || state === 'working';
}

/** The files of an account and their results. It outlives the view, so that work continues meanwhile. */
export class ImagesStore {
  readonly account: string;
  /** The options by operation. */
  readonly drafts = new Map<string, Draft>();
  /** The address that the drafts belong to. */
  address = '';
  /** Name of the operation that was open last. */
  last = '';
  state = NEW_STATE;
  readonly changes = new Listeners();
  readonly #running = new Map<number, AbortController>();
  readonly #pauses = new Map<number, number>();
  #job: Job | null = null;
  #nextId = 1;
  #pauseTimer: ReturnType<typeof setTimeout> | undefined;
  #renderTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(account: string) {
    this.account = account;
  }

  #set(change: Partial<ImagesState>): void {
    this.state = { ...this.state, ...change };
    this.#render();
  }

  #render(): void {
    clearTimeout(this.#renderTimer);
    this.#renderTimer = undefined;
    this.changes.call();
  }

  /** Changes a file; its progress, which many files report at once, is rendered a little later. */
  #change(id: number, change: Partial<Item>): void {
    const items = this.state.items.map((item) => (item.id === id ? { ...item, ...change } : item));
    this.state = { ...this.state, items };
    this.#renderTimer ??= setTimeout(() => this.#render(), RENDER_MS);
  }

  /** Adds files that are not in the list yet. @returns how many were left out, and why */
  add(chosen: readonly Chosen[]): { readonly known: number; readonly beyond: number } {
    const identityOf = ({ path, file }: Chosen) =>
      JSON.stringify([path, file.size, file.lastModified]);
    const { items, shown } = this.state;
    const names = new Set(items.map(identityOf));
    const fresh = chosen.filter((one) => !names.has(identityOf(one)));
    const added = fresh.slice(0, MAX_ITEMS - items.length).map(
      ({ file, path }): Item => ({
        ...{ id: this.#nextId++, file, path, state: 'idle', share: 0, error: null, result: null },
      }),
    );
    this.#set({ items: [...items, ...added], shown: shown ?? added[0]?.id ?? null });
    return { known: chosen.length - fresh.length, beyond: fresh.length - added.length };
  }

  /** Keeps options; an error that refused the former ones is over. */
  changeDraft(operation: string, draft: Draft): void {
    this.drafts.set(operation, draft);
    this.#set({ halt: null });
  }

  show(id: number): void {
    this.#set({ shown: id });
  }

  remove(id: number): void {
    this.#running.get(id)?.abort();
    const { items, shown } = this.state;
    const index = items.findIndex((item) => item.id === id);
    const rest = items.toSpliced(index, 1);
    const next = rest[Math.min(index, rest.length - 1)]?.id ?? null;
    this.#set({ items: rest, shown: shown === id ? next : shown });
  }

  clear(): void {
    this.stop();
    this.#set(NEW_STATE);
  }

  /** Runs a job over files; those that wait already get the new job. */
  start(job: Job, ids: readonly number[]): void {
    this.#job = job;
    const started = new Set(ids);
    for (const id of ids) this.#pauses.delete(id);
    this.#set({
      halt: null,
      items: this.state.items.map((item) =>
        started.has(item.id) && !isBusy(item)
          ? { ...item, state: 'waiting', share: 0, error: null }
          : item,
      ),
    });
    this.#pump();
  }

  /** Stops one file. */
  cancel(id: number): void {
    this.#running.get(id)?.abort();
    this.#change(id, { state: 'idle' });
  }

  /** Stops all files that are not ready. @param halt the reason, if it is not the reader's wish */
  stop(halt: ApiError | null = null): void {
    clearTimeout(this.#pauseTimer);
    this.#set({
      halt,
      pausedUntil: null,
      items: this.state.items.map((item) => (isBusy(item) ? { ...item, state: 'idle' } : item)),
    });
    for (const controller of this.#running.values()) controller.abort();
  }

  #pump(): void {
    if (this.state.pausedUntil !== null) return;
    while (this.#running.size < CONCURRENCY) {
      const next = this.state.items.find(
        ({ id, state }) => state === 'waiting' && !this.#running.has(id),
      );
      if (!next) return;
      void this.#work(next, this.#job!);
    }
  }

  async #work(item: Item, job: Job): Promise<void> {
    const { id } = item;
    const controller = new AbortController();
    const { signal } = controller;
    this.#running.set(id, controller);
    this.#change(id, { state: 'sending', share: 0 });
    let change: Partial<Item> = {};
    try {
      const outcome = await send(item, job, signal, (share) => {
        if (!signal.aborted) this.#change(id, share < 1 ? { share } : { share, state: 'working' });
      });
      change = { state: 'idle', error: null, result: { ...outcome, job } };
    } catch (error) {
      this.#running.delete(id);
      if (!isAborted(error) && !signal.aborted) change = this.#failed(item, job, error);
    }
    this.#running.delete(id);
    if (!signal.aborted) this.#change(id, change);
    this.#pump();
  }

  /** What an error does to its file, and to those that wait. */
  #failed({ id }: Item, { operation }: Job, error: unknown): Partial<Item> {
    const failure = apiErrorOf(error);
    const { status, param, retryAfter } = failure;
    if (status === 429 || status === 503) {
      const pauses = (this.#pauses.get(id) ?? 0) + 1;
      this.#pauses.set(id, pauses);
      if (pauses <= MAX_PAUSES) {
        this.#pause(retryAfter === null ? PAUSE_MS : retryAfter * 1000);
        return { state: 'waiting', share: 0 };
      }
    }
    const isOfField = status === 400 && operation.fields.some(({ name }) => name === param);
    // The other files would fail in the same way.
    if (isOfField || status === 401) {
      this.stop(failure);
      return { state: 'idle' };
    }
    if (failure.type === 'network_error' || [402, 403, 429, 503].includes(status))
      this.stop(failure);
    return { state: 'failed', error: failure };
  }

  #pause(milliseconds: number): void {
    const until = Math.max(this.state.pausedUntil ?? 0, Date.now() + milliseconds);
    clearTimeout(this.#pauseTimer);
    this.#pauseTimer = setTimeout(() => {
      this.#set({ pausedUntil: null });
      this.#pump();
    }, until - Date.now());
    this.#set({ pausedUntil: until });
  }
}

async function send(
  { file }: Item,
  job: Job,
  signal: AbortSignal,
  onProgress: (share: number) => void,
): Promise<Outcome> {
  if (file.size > MAX_FILE_BYTES) {
    throw new ApiError('The file is larger than 30 MiB, the limit of the server.', {
      code: 'file_too_large',
    });
  }
  const form = new FormData();
  form.append('files', file, sentName(file.name));
  for (const [name, value] of sentFields(job.operation, job.values)) form.append(name, value);
  for (const [name, files] of Object.entries(job.files)) {
    for (const one of files) form.append(name, one, sentName(one.name));
  }
  try {
    const response = await upload(job.operation.endpoint.slice(1), form, signal, onProgress);
    return await readAnswer(response, job.operation.gives);
  } catch (error) {
    if (!(error instanceof ApiError) || error.type !== 'network_error') throw error;
    // A browser does not say which of both failed.
    await file
      .slice(0, 1)
      .arrayBuffer()
      .catch(() => {
        throw new ApiError('The file was changed or removed after it was chosen. Add it again.');
      });
    throw error;
  }
}

let current: ImagesStore | null = null;

/** The store of an account. Files of another account that was signed in before are forgotten. */
export function storeOf(account: string): ImagesStore {
  if (current?.account !== account) {
    current?.clear();
    current = new ImagesStore(account);
  }
  return current;
}
