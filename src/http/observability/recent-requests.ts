import type { FastifyRequest } from 'fastify';
import type { KeyHolder } from '../../store/store.ts';

/** What is known of a request at its end. */
export interface EndedRequest
  extends Pick<
    FastifyRequest,
    'id' | 'method' | 'failure' | 'textReport' | 'firstFrameMs' | 'task' | 'body' | 'params'
  > {
  /** The route's pattern. */
  readonly route: string;
  readonly status: number;
  readonly milliseconds: number;
  /** Undefined without a valid key. */
  readonly holder: KeyHolder | undefined;
}

/** A recorded request, without its body, headers and answer. */
export type RecentRequest = ReturnType<typeof recordOf>;

/**
 * The scalars of a request and its report, whose trace would keep all spans in memory. Whole records of 1000
 * accounts and keys would be copied by each garbage collection.
 *
 * @param number ascending in the order of the ends of requests
 */
function recordOf(request: EndedRequest, number: number) {
  const { holder, failure: refusal, textReport: report, task } = request;
  const { id, method, route, status, milliseconds, firstFrameMs } = request;
  const failure = refusal ?? report?.failure ?? null;
  return {
    number,
    id,
    method,
    route,
    status,
    milliseconds,
    firstFrameMs,
    /** Time of the end, in milliseconds since the epoch. */
    at: Date.now(),
    holder: holder && namesOf(holder),
    model: report?.model ?? task?.model ?? null,
    /** The model that the client named in JSON or in the path, which need not exist; null without one. */
    namedModel: textIn(request.params, 'model') ?? textIn(request.body, 'model'),
    taskId: task?.id ?? null,
    provider: report?.provider ?? null,
    upstreamModel: report?.upstreamModel ?? null,
    attempts: report?.attempts ?? 0,
    usage: report?.usage ?? null,
    /** Micro-credits; null for a request that is not metered, such as one that created a task. */
    charge: report?.charge ?? null,
    errorType: failure?.type ?? null,
    errorCode: failure?.code ?? null,
    errorMessage: failure?.message.slice(0, MAX_TEXT) ?? null,
  };
}

/** Characters of a model's name, and of a failure's message, which may quote the request. */
const MAX_TEXT = 200;

function textIn(object: unknown, name: string): string | null {
  const text = (object as Readonly<Record<string, unknown>> | null | undefined)?.[name];
  return typeof text === 'string' ? text.slice(0, MAX_TEXT) : null;
}

function namesOf({ account, key }: KeyHolder) {
  return {
    account: { id: account.id, name: account.name },
    key: { id: key.id, name: key.name },
  };
}

/** Requests of all accounts that are kept, some 300 KB. */
const CAPACITY = 1000;

/** Account of requests without a valid key. */
const UNKNOWN = '';

/**
 * The last requests, in memory. Each account has an equal share of the places that others do not use, so that
 * one account's requests do not displace those of all others.
 */
export class RecentRequests {
  readonly #capacity: number;
  /** Requests by account, oldest first. */
  readonly #accounts = new Map<string, RecentRequest[]>();
  #size = 0;
  #number = 0;

  constructor(capacity: number = CAPACITY) {
    this.#capacity = capacity;
  }

  add(request: EndedRequest): void {
    this.#number += 1;
    const recent = recordOf(request, this.#number);
    const account = request.holder?.account.id ?? UNKNOWN;
    const own = this.#accounts.get(account);
    if (own === undefined) this.#accounts.set(account, [recent]);
    else own.push(recent);
    this.#size += 1;
    if (this.#size > this.#capacity) this.#removeOne(account);
  }

  /** Newest first; of one account, or of all. */
  list(accountId?: string): readonly RecentRequest[] {
    const lists =
      accountId === undefined
        ? [...this.#accounts.values()]
        : [this.#accounts.get(accountId) ?? []];
    return lists.flat().sort((one, other) => other.number - one.number);
  }

  /** Removes the oldest request of an account if that has its share, else of the account with the most. */
  #removeOne(account: string): void {
    let largest = account;
    const own = this.#accounts.get(account)!.length;
    // The only request of an account is the one that was just added.
    if (own === 1 || own <= this.#capacity / this.#accounts.size) {
      let most = 0;
      for (const [name, { length }] of this.#accounts) {
        if (length > most) [largest, most] = [name, length];
      }
    }
    const requests = this.#accounts.get(largest)!;
    requests.shift();
    if (requests.length === 0) this.#accounts.delete(largest);
    this.#size -= 1;
  }
}
