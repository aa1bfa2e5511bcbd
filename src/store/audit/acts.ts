import type { Actor, AuditEntry } from './entry.ts';

/** An administrative act with its result. */
export interface Act {
  /** Number of its first line. */
  readonly number: number;
  readonly at: string;
  readonly act: string;
  readonly who: Actor;
  readonly object: string;
  readonly details: Readonly<Record<string, unknown>>;
  /** `unknown` if the process ended before it wrote the result. */
  readonly result: 'done' | 'refused' | 'failed' | 'unknown';
  readonly code?: string;
}

interface Filter {
  /** Milliseconds since the epoch. */
  readonly from: number;
  readonly limit: number;
  /** Name or identifier. */
  readonly account?: string | undefined;
  /** `keys.create`, or `keys` for all acts of that group. */
  readonly act?: string | undefined;
}

/** Maximum number of acts without a result: a process has few at a time, and a crash leaves some. */
const MAX_OPEN_ACTS = 10_000;

/** Combines the lines of a log into acts, and keeps the newest that match the filter. */
export class AuditActs {
  readonly #filter: Filter;
  readonly #open = new Map<number, AuditEntry>();
  #acts: Act[] = [];

  constructor(filter: Filter) {
    this.#filter = filter;
  }

  /** @param entry next line of the log */
  add(entry: AuditEntry): void {
    const { number, result, of } = entry;
    if (result === 'begun') {
      this.#open.set(number, entry);
      if (this.#open.size > MAX_OPEN_ACTS) {
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

  /** Matching acts, oldest first. */
  get newest(): readonly Act[] {
    return this.#acts.toSorted((a, b) => a.number - b.number).slice(-this.#filter.limit);
  }

  #keep(act: Act): void {
    if (!this.#fits(act)) return;
    this.#acts.push(act);
    // Sorted before it is cut: an act that ended late may have begun before others.
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
