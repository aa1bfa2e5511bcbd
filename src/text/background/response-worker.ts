import { setTimeout as delay } from 'node:timers/promises';
import { isStorageFailure, retryStorage } from '../../assets/retry-storage.ts';
import type { Config } from '../../config/settings/schema.ts';
import { Failure } from '../../failure.ts';
import { FairSemaphore } from '../../fair-semaphore.ts';
import { callbackSecrets, statusOf } from '../../store/account.ts';
import { changeDocument, type WithChange } from '../../store/document.ts';
import { findHolder } from '../../store/key.ts';
import type { WorkCharges } from '../../store/ledger.ts';
import type { KeyHolder, Store } from '../../store/store.ts';
import { networkPolicyOf } from '../../upstream/network-policy.ts';
import type { Upstream } from '../../upstream/response.ts';
import { attemptDelivery, bodyOf, headersOf, retryDelay } from '../../upstream/webhook.ts';
import type { Admit, Ledger, Load } from '../billing/meter.ts';
import type { Json } from '../canonical/canonical.ts';
import { TextReport } from '../canonical/report.ts';
import { responseError } from '../dialects/responses/answer.ts';
import type { TextGateway } from '../gateway.ts';
import type { StoredResponse } from '../stored/history.ts';
import { StoredResponses } from '../stored/stored-responses.ts';
import type { BackgroundRun } from './background-run.ts';
import { bodyOfOpen, ended, LEASE_MS, type OpenResponse, type Work } from './open-response.ts';

export interface WorkerOptions {
  readonly text: TextGateway;
  readonly store: Store;
  readonly upstream: Upstream;
  readonly config: () => Config;
  readonly admit: Admit;
  readonly onFault: (error: unknown) => void;
}

/** Responses that run at once. */
const MAX_RUNNING = 64;

/** How often a response is begun again that a crash has interrupted. */
const MAX_STARTS = 3;

/** Most milliseconds between two attempts of a response that exceeds a limit of its key or team. */
const MAX_WAIT_MS = 5000;

/** Milliseconds after the end of a node in which the credits that it had reserved return. */
const RESERVED_MS = 60_000;

/** Answers responses in the background, and delivers their callbacks. */
export class ResponseWorker {
  readonly #options: WorkerOptions;
  readonly #node: string;
  readonly #closing: AbortSignal;
  readonly #slots = new FairSemaphore(MAX_RUNNING);

  constructor(options: WorkerOptions, node: string, closing: AbortSignal) {
    this.#options = options;
    this.#node = node;
    this.#closing = closing;
  }

  /** @param given the holder of the key; null to look it up */
  async work(run: BackgroundRun, given: KeyHolder | null): Promise<void> {
    const { store, onFault } = this.#options;
    const renew = () => void this.#renew(run).catch(onFault);
    const renewal = store.isShared ? setInterval(renew, LEASE_MS / 3).unref() : undefined;
    try {
      await this.#work(run, given);
    } catch (error) {
      if (!this.#closing.aborted) onFault(error);
    } finally {
      clearInterval(renewal);
      run.end();
    }
  }

  async #work(run: BackgroundRun, given: KeyHolder | null): Promise<void> {
    const { accountId } = run.document;
    for (let wait: number | null = 0; wait !== null; ) {
      if (wait > 0) await delay(wait, null, { signal: this.#closing }).catch(() => {});
      const release = await this.#slots.acquire(accountId);
      try {
        const { work } = bodyOfOpen(run.document);
        wait = work && !work.isAnswered ? await this.#answer(run, given, work) : null;
      } finally {
        release();
      }
    }
    const { work, response } = bodyOfOpen(run.document);
    if (work?.isAnswered && work.node === this.#node) await this.#callBack(run, work, response);
  }

  /** @returns milliseconds until the next attempt where a limit is exceeded; null where it has ended */
  async #answer(run: BackgroundRun, given: KeyHolder | null, work: Work): Promise<number | null> {
    const { text, admit } = this.#options;
    const { accountId, id } = run.document;
    const { background: _, ...body } = work.body;
    const report = new TextReport();
    const admitted: { end(used: number): void }[] = [];
    const kept: { answer?: StoredResponse } = {};
    let refusal: unknown = null;
    try {
      if (this.#closing.aborted || work.starts >= MAX_STARTS) {
        throw new Failure('service_error', 'the server was interrupted while it answered');
      }
      const holder = given ?? (await this.#holderOf(accountId, work.keyId));
      if (run.events.length === 0) {
        run.push({ type: 'response.created', response: bodyOfOpen(run.document).response });
      }
      await text.answer({
        ...{ requestId: id, dialect: 'responses', address: { model: null, stream: null } },
        ...{ body, bytes: Buffer.byteLength(JSON.stringify(body)), headers: {}, holder, report },
        ...{ clientDisconnect: run.clientDisconnect, response: run, onCharging: () => {} },
        ledger: this.#ledger(run, kept, work.starts > 0),
        admit: async (load: Load) => {
          admitted.push(
            await admit(holder, load).catch((error: unknown) => {
              refusal = error;
              throw error;
            }),
          );
        },
        keep: async (answer) => {
          kept.answer = answer;
          await retryStorage(() => this.#renew(run), this.#closing);
          // Another process may answer in its place.
          return bodyOfOpen(run.document).work?.node === this.#node;
        },
      });
      if (report.failure) throw report.failure;
    } catch (error) {
      if (error === refusal && (error as Failure).type === 'rate_limit') {
        return Math.min(((error as Failure).retryAfter ?? 1) * 1000, MAX_WAIT_MS);
      }
      const isAnswering = run.events.length > 1 || report.charge > 0;
      if (isStorageFailure(error) && !isAnswering && !this.#closing.aborted) return 1000;
      // The next process begins it again, unless a part of it was charged.
      if (this.#closing.aborted && report.charge === 0) {
        await this.#change(run, { work: { ...work, node: '', until: 0 } });
        return null;
      }
      const failure =
        error instanceof Failure ? error : new Failure('service_error', 'the answer failed');
      if (failure !== error) this.#options.onFault(error);
      const { response, work: left } = bodyOfOpen(run.document);
      const failed = { ...response, status: 'failed', error: responseError(failure) };
      if (!left?.isAnswered) await this.#change(run, { response: failed, work: ended(work) });
    } finally {
      for (const one of admitted) one.end(report.tokens);
    }
    const { response, work: left } = bodyOfOpen(run.document);
    if (left?.isAnswered !== true || left.node !== this.#node) return null;
    run.pushEnd(response);
    // The last event of a stream comes after the charge.
    if (body['stream'] === true) await this.#change(run, { events: run.events });
    return null;
  }

  /** The response as it is stored with its complete answer, and the items that it adds. */
  async #answered(run: BackgroundRun, answer: StoredResponse) {
    const { store, config } = this.#options;
    const { response, work } = bodyOfOpen(run.document);
    const { id, created_at } = response;
    const own = { ...answer, response: { ...answer.response, id, created_at, background: true } };
    const responses = new StoredResponses(store, run.document.accountId, config());
    const parts = await responses.partsOf(run.document, own);
    return { change: { ...own, work: ended(work!) }, parts };
  }

  async #callBack(run: BackgroundRun, work: Work, response: Json): Promise<void> {
    const { store, config, upstream } = this.#options;
    const { accountId, id } = run.document;
    const { callbackUrl: url, attempts } = work;
    const account = url === null ? undefined : await store.findAccount(accountId);
    if (url === null || account === undefined) return void (await this.#change(run, null));
    const { status, completed_at: at } = response;
    const event = { id, object: 'response', status };
    const body = bodyOf(`response.${status}`, Number(at ?? response['created_at']) * 1000, event);
    const secrets = callbackSecrets(account, config().callbacks.secretOverlap, store.now);
    const headers = headersOf(`msg_${id}`, body, secrets, store.now);
    const networkPolicy = networkPolicyOf(config().network);
    const options = { networkPolicy, signal: this.#closing };
    const { verdict } = await attemptDelivery(upstream, { url, headers, body }, options);
    const pause = verdict === 'retry' ? retryDelay(attempts + 1, Math.random()) : null;
    const next = { ...work, attempts: attempts + 1, nextAt: store.now + (pause ?? 0) };
    await this.#change(run, pause === null ? null : { work: { ...next, node: '', until: 0 } });
  }

  /** Extends the lease. @returns whether the response is still to be answered here */
  async #renew(run: BackgroundRun): Promise<boolean> {
    const { work } = bodyOfOpen(run.document);
    if (!work) return false;
    const until = this.#options.store.now + LEASE_MS;
    const isOwn = await this.#change(run, { work: { ...work, until } });
    // Cancelled or taken over at another node, or deleted.
    if (!isOwn) run.cancel(run.document);
    return isOwn && !work.isAnswered;
  }

  /**
   * Changes the stored response, unless another node has cancelled it or taken it over.
   *
   * @param change null where no work is left
   * @returns whether it was changed; if not, the run has what is stored
   */
  async #change(
    run: BackgroundRun,
    change: Partial<OpenResponse> | null,
    more?: WithChange,
  ): Promise<boolean> {
    const { documents } = this.#options.store;
    const isAnswered = bodyOfOpen(run.document).work?.isAnswered;
    const next = (body: OpenResponse) => {
      run.document = { ...run.document, body };
      const { work, ...done } = body;
      if (work?.node !== this.#node || work.isAnswered !== isAnswered) return null;
      return change ? { body: { ...body, ...change } } : { body: done, isOpen: false };
    };
    const changed = await changeDocument(documents, run.document, next, more);
    if (changed) run.document = changed;
    return Boolean(changed);
  }

  /**
   * Charges an answer in the transaction that stores it: a crash leaves both or none. A failure that is charged does not
   * run again.
   *
   * @param kept the answer, once it is complete
   * @param isLate whether a former process may have reserved credits, which return later than its work
   */
  #ledger(run: BackgroundRun, kept: { readonly answer?: StoredResponse }, isLate: boolean): Ledger {
    const { store } = this.#options;
    const until = store.now + RESERVED_MS;
    const closing = this.#closing;
    return {
      release: (reservation) => store.release(reservation),
      reserve: (accountId, keyId, amount) =>
        store.reserve(accountId, keyId, amount).catch((error: unknown) => {
          const isUnpaid = error instanceof Failure && error.type === 'insufficient_quota';
          if (!isLate || !store.isShared || !isUnpaid) throw error;
          return store.reserve(accountId, keyId, 0);
        }),
      settle: async (payer, metered) => {
        const { accountId, keyId } = payer;
        const held = 'id' in payer ? [payer] : [];
        const isLeft = metered.charge > 0 && held[0]?.amount === 0;
        while (isLeft && held.length === 1 && store.now < until && !closing.aborted) {
          const found = await store.reserve(accountId, keyId, metered.charge).catch(() => null);
          if (found === null) await delay(1000, null, { ref: false });
          else held.push(found);
        }
        const charges = { keyId, usage: [metered], held };
        try {
          // What the provider has answered is not asked for again once the store can be used.
          const isStored = await retryStorage(() => this.#charge(run, kept, charges), closing);
          if (isStored) return metered.charge;
          // Another process answers it, unless it was cancelled or deleted.
          const { work: left, response } = bodyOfOpen(run.document);
          const isOwn = left?.node === this.#node || response['status'] === 'cancelled';
          return isOwn ? await store.settle(payer, metered) : 0;
        } finally {
          for (const one of held) await store.release(one);
        }
      },
    };
  }

  /** Stores the answer with its charge. @returns false where another process has the response, or it needs no answer */
  async #charge(
    run: BackgroundRun,
    { answer }: { readonly answer?: StoredResponse },
    charges: WorkCharges,
  ): Promise<boolean> {
    const { work } = bodyOfOpen(run.document);
    if (!work || work.isAnswered) return false;
    const { change, parts } = answer
      ? await this.#answered(run, answer)
      : { change: { work: { ...work, starts: MAX_STARTS } }, parts: {} };
    if (await this.#change(run, change, { charges, ...parts })) return true;
    // An attempt whose connection to the store was lost may have succeeded.
    const { work: found } = bodyOfOpen(run.document);
    return found?.isAnswered === true && found.node === this.#node;
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
