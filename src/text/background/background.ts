import { setTimeout as delay } from 'node:timers/promises';
import { codedFailure, Failure } from '../../failure.ts';
import { invalid } from '../../schema/invalid.ts';
import { isObject, textOf } from '../../schema/untrusted.ts';
import { changeDocument, type Document } from '../../store/document.ts';
import { newId } from '../../store/identifier.ts';
import type { KeyHolder } from '../../store/store.ts';
import { Sums } from '../../store/sums.ts';
import { networkPolicyOf } from '../../upstream/network-policy.ts';
import { checkPublicUrl } from '../../upstream/public-url.ts';
import type { Json } from '../canonical/canonical.ts';
import { dialectNamed } from '../dialects/registry.ts';
import { findModelOfType } from '../execution/model-routes.ts';
import { itemsOf, rebuild } from '../stored/history.ts';
import { StoredResponses } from '../stored/stored-responses.ts';
import { BackgroundRun, frameOf } from './background-run.ts';
import {
  bodyOfOpen,
  ended,
  LEASE_MS,
  type OpenResponse,
  queuedResponse,
  type Work,
} from './open-response.ts';
import { ResponseWorker, type WorkerOptions } from './response-worker.ts';

/** Responses of an account that wait or run at a node. */
const MAX_OPEN = 100;

/** Documents that one look for open work reads, and milliseconds between two looks. */
const MAX_FOUND = 1000;
const INTERVAL_MS = 2000;

/** Milliseconds between two looks at a stream that another node writes. */
const POLL_MS = 250;

/**
 * Runs responses in the background. A response is a document with `work` until its answer is stored and its callback is
 * delivered. Another process takes over what a crash has left: an answer that was not complete was not charged, and runs
 * again; a complete one is stored and charged in one transaction, and never runs again.
 */
export class BackgroundResponses {
  readonly #options: WorkerOptions;
  readonly #node = newId('node');
  readonly #runs = new Map<string, BackgroundRun>();
  /** Responses by account that wait, run, or are about to. */
  readonly #open = new Sums();
  readonly #running = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  readonly #worker: ResponseWorker;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#worker = new ResponseWorker(options, this.#node, this.#closing.signal);
  }

  /** Looks for work that other processes have left, from now on. */
  start(): void {
    const { signal } = this.#closing;
    const look = async () => {
      for (; !signal.aborted; ) {
        await this.#takeOver().catch(this.#options.onFault);
        await delay(INTERVAL_MS, null, { signal, ref: false }).catch(() => {});
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
      throw invalid('store', 'expected true for a response in the background, received false');
    }
    if (callback !== null) {
      const policy = networkPolicyOf(config().network);
      checkPublicUrl(textOf(callback), 'callback_url', policy, 'callback');
    }
    const accountId = holder.account.id;
    const open = this.#open.of(accountId);
    if (open >= MAX_OPEN) {
      const message = `the account has ${open} responses in the background`;
      throw codedFailure('too_many_tasks', message, { retryAfter: 5 });
    }
    this.#open.add(accountId, 1);
    try {
      const responses = new StoredResponses(store, accountId, config());
      const { previous, conversation } = await rebuild(body, responses, config().server.bodyLimit);
      const response = queuedResponse(body, previous, conversation);
      const work: Work = {
        ...{ body, keyId: holder.key.id, starts: 0, node: this.#node, isAnswered: false },
        ...{ until: store.now + LEASE_MS, attempts: 0, nextAt: 0 },
        callbackUrl: callback === null ? null : textOf(callback),
      };
      // The items join their conversation at the end.
      const stored = { response, input: itemsOf(body['input']), previous, conversation: null };
      const kept = await responses.keep(stored, true, { work });
      this.#begin(kept, holder);
      return kept;
    } finally {
      this.#open.add(accountId, -1);
    }
  }

  /** Cancels a response, wherever it runs. @throws Failure where it is not one in the background */
  async cancel(document: Document): Promise<Json> {
    const { response } = bodyOfOpen(document);
    if (response['background'] !== true) {
      const message = 'only responses in the background can be cancelled';
      throw new Failure('invalid_request', message, { param: 'response_id' });
    }
    const { documents } = this.#options.store;
    const changed = await changeDocument<OpenResponse>(documents, document, (body) => {
      if (!body.work || body.work.isAnswered) return null;
      const cancelled = { ...body.response, status: 'cancelled' };
      return { body: { ...body, response: cancelled, work: ended(body.work) } };
    });
    if (!changed) return bodyOfOpen((await documents.find(document)) ?? document).response;
    // At another node, its next renewal finds out.
    const run = this.#runs.get(document.id);
    run?.cancel(changed);
    run?.pushEnd(changed.body.response);
    return changed.body.response;
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
    const { id, created_at } = bodyOfOpen(document).response;
    const head = { id, created_at, background: true };
    const run = new BackgroundRun(document, (response) => ({ ...response, ...head }));
    this.#runs.set(document.id, run);
    this.#open.add(document.accountId, 1);
    const work = this.#worker.work(run, holder).finally(() => {
      this.#runs.delete(document.id);
      this.#open.add(document.accountId, -1);
    });
    this.#run(work);
  }

  #run(work: Promise<void>): void {
    const running = work.finally(() => this.#running.delete(running));
    this.#running.add(running);
  }
}

/** Whether a client asks for a response in the background. */
export function isBackground(body: unknown): body is Json {
  return isObject(body) && body['background'] === true;
}
