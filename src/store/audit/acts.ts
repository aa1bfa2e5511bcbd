import type { Actor, AuditEntry } from './entry.ts';

/** An act with what came of it. */
export interface Act {
  /** Number of its first line. */
  readonly number: number;
  readonly at: string;
  readonly act: string;
  readonly who: Actor;
  readonly object: string;
  readonly details: Readonly<Record<string, unknown>>;
  /** `unknown` where the process ended before it could tell. */
  readonly result: 'done' | 'refused' | 'failed' | 'unknown';
  readonly code?: string;
}

interface Filter {
  /** Milliseconds since the epoch. */
  readonly from: number;
  readonly limit: number;
  /** Name or identifier. */
  readonly account?: string | undefined;
  /** `keys.create`, or `keys` for all of them. */
  readonly act?: string | undefined;
}

/** Acts that began and may end yet: a process has few at a time, and a crash leaves them open. */
const MOST_OPEN = 10_000;

/** Makes acts of the lines of a log, and keeps the newest. */
export class AuditActs {
  readonly #filter: Filter;
  readonly #open = new Map<number, AuditEntry>();
  #acts: Act[] = [];

  constructor(filter: Filter) {
    this.#filter = filter;
  }

  /** @param entry in the order of the log */
  add(entry: AuditEntry): void {
    const { number, result, of } = entry;
    if (result === 'begun') {
      this.#open.set(number, entry);
      if (this.#open.size > MOST_OPEN) {
        const [oldest] = this.#open.keys();
        this.#open.delete(oldest!);
      }
      this.#keep({ ...actOf(entry), result: 'unknown' });
      return;
    }
    const begun = of === undefined ? undefined : this.#open.get(of);
    if (begun) this.#open.delete(begun.number);
    const act: Act = { ...actOf(entry), number: begun?.number ?? number, result };
    const index = begun ? this.#acts.findLastIndex((one) => one.number === begun.number) : -1;
    if (index !== -1) this.#acts.splice(index, 1);
    this.#keep(begun ? { ...act, at: begun.at } : act);
  }

  /** Oldest first. */
  get newest(): readonly Act[] {
    return this.#acts.toSorted((a, b) => a.number - b.number).slice(-this.#filter.limit);
  }

  #keep(act: Act): void {
    if (!this.#fits(act)) return;
    this.#acts.push(act);
    // Cut now and then: what ended late may be older than what is kept.
    if (this.#acts.length > 2 * this.#filter.limit + 1000) this.#acts = [...this.newest];
  }

  #fits({ at, act, who, object, details }: Act): boolean {
    const { from, account, act: wanted } = this.#filter;
    if (Date.parse(at) < from) return false;
    if (wanted !== undefined && act !== wanted && !act.startsWith(`${wanted}.`)) return false;
    if (account === undefined) return true;
    const named = [who.account, details['account'], details['accountId']];
    if (act.startsWith('accounts.')) named.push(object, details['id']);
    return named.includes(account);
  }
}

function actOf({
  number,
  at,
  act,
  who,
  object,
  details = {},
  code,
}: AuditEntry): Omit<Act, 'result'> {
  return { number, at, act, who, object, details, ...(code !== undefined && { code }) };
}
