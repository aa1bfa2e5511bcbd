import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../../config/settings/schema.ts';
import { Failure } from '../../failure.ts';
import { FairSemaphore } from '../../fair-semaphore.ts';
import { isObject, textOf } from '../../schema/untrusted.ts';
import { callbackSecrets, statusOf } from '../../store/account.ts';
import type { Document } from '../../store/document.ts';
import { newId } from '../../store/identifier.ts';
import { findHolder } from '../../store/key.ts';
import type { KeyHolder, Store } from '../../store/store.ts';
import { networkPolicyOf } from '../../upstream/network-policy.ts';
import { checkPublicUrl } from '../../upstream/public-url.ts';
import type { Upstream } from '../../upstream/response.ts';
import { attemptDelivery, bodyOf, headersOf, retryDelay } from '../../upstream/webhook.ts';
import type { Json } from '../canonical/canonical.ts';
import { TextReport } from '../canonical/report.ts';
import { dialectNamed } from '../dialects/registry.ts';
import { responseError } from '../dialects/responses/answer.ts';
import { findModelOfType } from '../execution/model-routes.ts';
import type { TextGateway } from '../gateway.ts';
import { itemsOf, rebuild, type StoredResponse } from '../stored/history.ts';
import { StoredResponses } from '../stored/stored-responses.ts';
import { BackgroundRun, frameOf } from './background-run.ts';
import {
  bodyOfOpen,
  ended,
  type OpenResponse,
  queuedResponse,
  type Work,
} from './open-response.ts';

/** Responses that run at once, and those of an account that wait or run at a node. */
const MAX_RUNNING = 64;
const MAX_OPEN = 100;

/** Documents that one look for open work reads, and milliseconds between two looks. */
const MAX_FOUND = 1000;
const INTERVAL_MS = 2000;

/** Milliseconds for which a claim is valid without a renewal, where nodes share the store. */
const LEASE_MS = 15_000;

/** How often a response is begun again that a crash has interrupted. */
const MAX_STARTS = 3;

/** Milliseconds between two looks at a stream that another node writes. */
const POLL_MS = 250;

interface BackgroundOptions {
  readonly text: TextGateway;
  readonly store: Store;
  readonly upstream: Upstream;
  readonly config: () => Config;
  readonly onFault: (error: unknown) => void;
}

/**
 * Runs responses in the background. A response is a document with `work` until its answer is stored and its callback is
 * delivered. Another process takes over what a crash has left: an answer that was not complete was not charged, and runs
 * again; a complete one is stored before it is charged, and never runs again.
 */
export class BackgroundResponses {
  readonly #options: BackgroundOptions;
  readonly #node = newId('node');
  readonly #runs = new Map<string, BackgroundRun>();
  readonly #running = new Set<Promise<void>>();
  readonly #slots = new FairSemaphore(MAX_RUNNING);
  readonly #closing = new AbortController();

  constructor(options: BackgroundOptions) {
    this.#options = options;
  }

  /** Looks for work that other processes have left, from now on. */
  start(): void {
    const look = async () => {
      for (; !this.#closing.signal.aborted; ) {
        await this.#takeOver().catch(this.#options.onFault);
        await delay(INTERVAL_MS, null, { signal: this.#closing.signal, ref: false }).catch(
          () => {},
        );
      }
    };
    this.#run(look());
  }

  /** Begins nothing more. */
  drain(): void {
    this.#closing.abort();
  }

  /** Resolves when what is under way has ended; the gateway aborts it after the grace. */
  async close(): Promise<void> {
    this.drain();
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  /** Begins a response. @throws Failure of the request, or `too_many_tasks` */
  async submit(holder: KeyHolder, request: Json): Promise<Document> {
    const { config, store } = this.#options;
    const { callback_url: callback = null, ...body } = request;
    const { model } = dialectNamed('responses').decodeRequest(body);
    findModelOfType('text', model, config(), holder);
    if (body['store'] === false) {
      const message = 'store: expected true for a response in the background, received false';
      throw new Failure('invalid_request', message, { param: 'store' });
    }
    if (callback !== null) {
      checkPublicUrl(
        textOf(callback),
        'callback_url',
        networkPolicyOf(config().network),
        'callback',
      );
    }
    const accountId = holder.account.id;
    const open = [...this.#runs.values()].filter((run) => run.document.accountId === accountId);
    if (open.length >= MAX_OPEN) {
      const message = `the account has ${open.length} responses in the background`;
      throw new Failure('rate_limit', message, { code: 'too_many_tasks', retryAfter: 5 });
    }
    const { previous, conversation } = await rebuild(
      body,
      this.#stored(accountId),
      config().server.bodyLimit,
    );
    const response = queuedResponse(body, previous, conversation);
    const work: Work = {
      ...{ body, keyId: holder.key.id, starts: 0, node: this.#node, isAnswered: false },
      ...{ until: store.now + LEASE_MS, attempts: 0, nextAt: 0 },
      callbackUrl: callback === null ? null : textOf(callback),
    };
    // The items join their conversation at the end.
    const stored = { response, input: itemsOf(body['input']), previous, conversation: null };
    const kept = await this.#stored(accountId).keep(stored, true, { work });
    this.#begin(kept, holder);
    return kept;
  }

  /** Cancels a response, wherever it runs. @throws Failure where it is not one in the background */
  async cancel(document: Document): Promise<Json> {
    const { response, work } = bodyOfOpen(document);
    if (response['background'] !== true) {
      const message = 'only responses in the background can be cancelled';
      throw new Failure('invalid_request', message, { param: 'response_id' });
    }
    if (!work || work.isAnswered) return response;
    const cancelled = { ...response, status: 'cancelled' };
    const run = this.#runs.get(document.id);
    if (run) {
      await this.#end(run, cancelled);
      const left = new Failure('service_error', 'the response was cancelled', {
        code: 'upstream_overloaded',
      });
      run.clientDisconnect.abort(left);
      return cancelled;
    }
    const isOpen = work.callbackUrl !== null;
    const body = { ...(document.body as object), response: cancelled, work: ended(work, isOpen) };
    await this.#options.store.documents.change(document, { body, isOpen });
    return cancelled;
  }

  /** Frames of the events of a response after one. */
  async *follow(document: Document, after: number, signal: AbortSignal): AsyncGenerator<string> {
    const run = this.#runs.get(document.id);
    if (run) return yield* run.follow(after, signal);
    for (;;) {
      const found = await this.#options.store.documents.find(document);
      const { events, work, response } = bodyOfOpen(found ?? document);
      if (signal.aborted) return;
      // The events of a stream are stored after its answer.
      const isComplete = work?.isAnswered && (work.body['stream'] !== true || events !== undefined);
      if (found && work && !isComplete) {
        await delay(POLL_MS);
        continue;
      }
      const last = { type: `response.${response['status']}`, response, sequence_number: 0 };
      for (const event of events ?? [last]) {
        if (Number(event['sequence_number']) > after) yield frameOf(event);
      }
      return;
    }
  }

  async #takeOver(): Promise<void> {
    const { store } = this.#options;
    const { now } = store;
    const own = new Set(this.#runs.keys());
    for (const document of await store.documents.listOpen('response', MAX_FOUND, own)) {
      const { work } = bodyOfOpen(document);
      if (this.#runs.has(document.id) || !work) continue;
      const isHeld = store.isShared && work.until > now && work.node !== this.#node;
      if (isHeld || work.nextAt > now) continue;
      const starts = work.isAnswered ? work.starts : work.starts + 1;
      const claim = { ...work, node: this.#node, until: now + LEASE_MS, starts };
      const body = { ...(document.body as object), work: claim };
      // Another node may be faster.
      const claimed = await store.documents.change(document, { body }).catch(() => null);
      if (claimed !== null) this.#begin(claimed, null);
    }
  }

  #begin(document: Document, holder: KeyHolder | null): void {
    const { id, previous_response_id: previous, created_at } = bodyOfOpen(document).response;
    const head = { id, created_at, background: true, store: true, previous_response_id: previous };
    const run = new BackgroundRun(document, (response) => ({ ...response, ...head }));
    this.#runs.set(document.id, run);
    const renewal = setInterval(() => this.#renew(run), LEASE_MS / 3).unref();
    const work = this.#work(run, holder)
      .catch((error: unknown) => {
        if (!this.#closing.signal.aborted) this.#options.onFault(error);
      })
      .finally(() => {
        clearInterval(renewal);
        run.end();
        this.#runs.delete(document.id);
      });
    this.#run(work);
  }

  #run(work: Promise<void>): void {
    const running = work.finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async #work(run: BackgroundRun, given: KeyHolder | null): Promise<void> {
    const { accountId } = run.document;
    const release = await this.#slots.acquire(accountId);
    try {
      const { work } = bodyOfOpen(run.document);
      if (work && !work.isAnswered) await this.#answer(run, given, work);
    } finally {
      release();
    }
    const { work, response } = bodyOfOpen(run.document);
    if (run.document.isOpen && work?.isAnswered) await this.#callBack(run, work, response);
  }

  async #answer(run: BackgroundRun, given: KeyHolder | null, work: Work): Promise<void> {
    const { text } = this.#options;
    const { accountId, id } = run.document;
    const { background: _, ...body } = work.body;
    const report = new TextReport();
    try {
      if (this.#closing.signal.aborted) throw interrupted();
      if (work.starts >= MAX_STARTS) throw interrupted();
      const holder = given ?? (await this.#holderOf(accountId, work.keyId));
      const { response } = bodyOfOpen(run.document);
      run.push({ type: 'response.created', response });
      await text.answer({
        ...{ requestId: id, dialect: 'responses', address: { model: null, stream: null } },
        ...{ body, bytes: Buffer.byteLength(JSON.stringify(body)), headers: {}, holder, report },
        ...{ clientDisconnect: run.clientDisconnect, response: run, onCharging: () => {} },
        keep: (answer) => this.#keep(run, answer),
      });
      if (report.failure) throw report.failure;
    } catch (error) {
      if (bodyOfOpen(run.document).work?.isAnswered) return;
      // The next process begins it again, unless a part of it was charged.
      if (this.#closing.signal.aborted && report.charge === 0) return this.#giveBack(run);
      const failure =
        error instanceof Failure ? error : new Failure('service_error', 'the answer failed');
      if (failure !== error) this.#options.onFault(error);
      const { response } = bodyOfOpen(run.document);
      await this.#end(run, { ...response, status: 'failed', error: responseError(failure) });
      return;
    }
    const { response, work: left } = bodyOfOpen(run.document);
    if (left?.isAnswered !== true) return;
    // The last event of a stream comes after the charge.
    if (body['stream'] === true) await this.#change(run, { events: run.events });
    else run.push({ type: `response.${response['status']}`, response });
  }

  /** Stores a complete answer before it is charged. */
  async #keep(run: BackgroundRun, answer: StoredResponse): Promise<void> {
    const { id, created_at } = bodyOfOpen(run.document).response;
    const response = { ...answer.response, id, created_at, background: true };
    const { work } = bodyOfOpen(run.document);
    const rest = { work: ended(work!, true) };
    run.document = await this.#stored(run.document.accountId).finish(
      run.document,
      { ...answer, response },
      rest,
    );
  }

  /** Ends a response without an answer. */
  async #end(run: BackgroundRun, response: Json): Promise<void> {
    const { work } = bodyOfOpen(run.document);
    const { status } = response;
    run.push({ type: `response.${status}`, response });
    const isStreamed = work!.body['stream'] === true;
    const rest = { work: ended(work!, true), ...(isStreamed && { events: run.events }) };
    await this.#change(run, { response, ...rest });
  }

  async #callBack(run: BackgroundRun, work: Work, response: Json): Promise<void> {
    const { store, config, upstream } = this.#options;
    const { accountId, id } = run.document;
    const { callbackUrl: url, attempts } = work;
    const account = url === null ? undefined : await store.findAccount(accountId);
    if (url === null || account === undefined) return this.#change(run, {}, false);
    const { status, completed_at: at } = response;
    const event = { id, object: 'response', status };
    const body = bodyOf(`response.${status}`, Number(at ?? response['created_at']) * 1000, event);
    const secrets = callbackSecrets(account, config().callbacks.secretOverlap, store.now);
    const headers = headersOf(`msg_${id}`, body, secrets, store.now);
    const networkPolicy = networkPolicyOf(config().network);
    const { signal } = this.#closing;
    const { verdict } = await attemptDelivery(
      upstream,
      { url, headers, body },
      { networkPolicy, signal },
    );
    const pause = verdict === 'retry' ? retryDelay(attempts + 1, Math.random()) : null;
    if (pause === null) return this.#change(run, {}, false);
    const next = { ...work, attempts: attempts + 1, nextAt: store.now + pause };
    await this.#change(run, { work: { ...next, node: '', until: 0 } });
  }

  async #renew(run: BackgroundRun): Promise<void> {
    const { store, onFault } = this.#options;
    const { work } = bodyOfOpen(run.document);
    if (!store.isShared || !work || work.isAnswered) return;
    const until = store.now + LEASE_MS;
    await this.#change(run, { work: { ...work, until } }).catch((error: unknown) => {
      if (error instanceof Failure && error.code === 'document_changed') {
        // Cancelled at another node, or deleted.
        run.clientDisconnect.abort(
          new Failure('service_error', 'the response was cancelled', {
            code: 'upstream_overloaded',
          }),
        );
      } else onFault(error);
    });
  }

  async #giveBack(run: BackgroundRun): Promise<void> {
    const { work } = bodyOfOpen(run.document);
    await this.#change(run, { work: { ...work!, node: '', until: 0 } });
  }

  async #change(run: BackgroundRun, change: object, isOpen = true): Promise<void> {
    const { work: _, ...done } = { ...bodyOfOpen(run.document), ...change } as OpenResponse;
    const body = isOpen ? { ...bodyOfOpen(run.document), ...change } : done;
    run.document = await this.#options.store.documents.change(run.document, { body, isOpen });
  }

  #stored(accountId: string): StoredResponses {
    return new StoredResponses(this.#options.store, accountId, this.#options.config());
  }

  /** @throws Failure auth_error where the key was revoked meanwhile */
  async #holderOf(accountId: string, keyId: string): Promise<KeyHolder> {
    const { store } = this.#options;
    const holder = await findHolder(store, accountId, keyId);
    if (!holder || statusOf(holder.key, store.now) !== 'active') {
      throw new Failure('auth_error', 'the API key of the response was revoked or has expired');
    }
    return holder;
  }
}

function interrupted(): Failure {
  return new Failure('service_error', 'the server was interrupted while it answered');
}

/** Whether a client asks for a response in the background. */
export function isBackground(body: unknown): body is Json {
  return isObject(body) && body['background'] === true;
}
