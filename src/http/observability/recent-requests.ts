import type { Failure } from '../../failure.ts';
import type { Account, ApiKey } from '../../store/account.ts';
import type { KeyHolder } from '../../store/store.ts';
import type { Task } from '../../store/task.ts';
import type { Usage } from '../../text/canonical/events.ts';
import type { TextReport } from '../../text/canonical/report.ts';

/** What is known of a request at its end. */
export interface EndedRequest {
  readonly id: string;
  readonly method: string;
  /** The route's pattern. */
  readonly route: string;
  readonly status: number;
  readonly milliseconds: number;
  /** Undefined without a valid key. */
  readonly holder: KeyHolder | undefined;
  readonly failure: Failure | null;
  readonly textReport: TextReport | null;
  readonly firstFrameMs: number | null;
  /** The task that the request created; null for none. */
  readonly task: Task | null;
}

/** The names of a request's account and key: whole records of 1000 requests would be copied by each garbage collection. */
interface RequestHolder {
  readonly account: Pick<Account, 'id' | 'name'>;
  readonly key: Pick<ApiKey, 'id' | 'name'>;
}

/** A recorded request, without its body, headers and answer. */
export interface RecentRequest {
  /** Ascending in the order of the ends of requests. */
  readonly number: number;
  readonly id: string;
  /** Time of the end, in milliseconds since the epoch. */
  readonly at: number;
  readonly method: string;
  readonly route: string;
  readonly status: number;
  readonly milliseconds: number;
  readonly firstFrameMs: number | null;
  /** Undefined without a valid key. */
  readonly holder: RequestHolder | undefined;
  readonly model: string | null;
  readonly taskId: string | null;
  readonly provider: string | null;
  readonly upstreamModel: string | null;
  readonly attempts: number;
  readonly usage: Usage | null;
  /** Micro-credits; null for a request that is not metered, such as one that created a task. */
  readonly charge: number | null;
  readonly errorType: string | null;
  readonly errorCode: string | null;
}

function namesOf({ account, key }: KeyHolder): RequestHolder {
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

  /** Records the scalars of a report: its trace would keep all spans in memory. */
  add(request: EndedRequest): void {
    const { holder, failure: refusal, textReport: report, task } = request;
    const failure = refusal ?? report?.failure ?? null;
    this.#number += 1;
    const recent: RecentRequest = {
      number: this.#number,
      id: request.id,
      at: Date.now(),
      method: request.method,
      route: request.route,
      status: request.status,
      milliseconds: request.milliseconds,
      firstFrameMs: request.firstFrameMs,
      holder: holder && namesOf(holder),
      model: report?.model ?? task?.model ?? null,
      taskId: task?.id ?? null,
      provider: report?.provider ?? null,
      upstreamModel: report?.upstreamModel ?? null,
      attempts: report?.attempts ?? 0,
      usage: report?.usage ?? null,
      charge: report?.charge ?? null,
      errorType: failure?.type ?? null,
      errorCode: failure?.code ?? null,
    };
    const account = holder?.account.id ?? UNKNOWN;
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
