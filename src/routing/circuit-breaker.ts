import type { Config } from '../config/settings/schema.ts';
import { remember } from '../maps.ts';

type Cooldown = NonNullable<Config['routing']['cooldown']>;

/** Failures of one account's requests since the last success of any request. */
interface AccountCircuit {
  failures: number;
  /** Failures that count for the route: half as many as it takes to open the circuit for all accounts, at most. */
  counted: number;
  /** Time until which the circuit is open for this account; 0 while it is closed. */
  openUntil: number;
  /** Whether a request of this account is probing the route while the circuit is half-open. */
  probing: boolean;
}

interface Circuit {
  readonly accounts: Map<string, AccountCircuit>;
  /** Time until which the circuit is open for all accounts; 0 while it is closed. */
  openUntil: number;
}

/** Milliseconds after which requests ask again while a probe of unknown duration is under way. */
const PROBE_RECHECK_MS = 1000;

/** Routes with failures that are remembered, the newest ones: clients choose a part of a wildcard's names. */
const MAX_ROUTES = 10_000;

/** Accounts with failures that are remembered for each route, the newest ones. */
const MAX_ACCOUNTS = 1000;

/** Failed probes, each of another account, that open a half-open circuit for all accounts again. */
const FAILED_PROBES = 2;

/**
 * A circuit breaker for each route. An account whose requests keep failing does not use the route for the
 * cooldown; then one of its requests probes the route while its others wait for the result. Once requests of
 * several accounts fail, no account uses the route: the requests of one account may fail by their content.
 */
export class CircuitBreakers {
  readonly #circuits = new Map<string, Circuit>();
  readonly #now: () => number;

  /** @param now milliseconds of a monotonic clock */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Milliseconds until an account may try a route; 0 for now. @param account null for one without failures */
  remainingCooldown(route: string, account: string | null): number {
    const circuit = this.#circuits.get(route);
    if (circuit === undefined) return 0;
    const own = account === null ? undefined : circuit.accounts.get(account);
    const openUntil = Math.max(circuit.openUntil, own?.openUntil ?? 0);
    if (openUntil === 0) return 0;
    const remaining = openUntil - this.#now();
    return remaining > 0 ? remaining : own?.probing ? PROBE_RECHECK_MS : 0;
  }

  /**
   * Registers an account's attempt at a route.
   *
   * @returns a function that reports its result: success, failure, or null where it says nothing of
   *   the route; only the first call counts
   */
  begin(route: string, cooldown: Cooldown, account: string): (succeeded: boolean | null) => void {
    const circuit = this.#circuits.get(route);
    const isProbe =
      circuit !== undefined &&
      (circuit.openUntil > 0 || (circuit.accounts.get(account)?.openUntil ?? 0) > 0);
    if (isProbe) accountIn(circuit, account).probing = true;
    let reported = false;
    return (succeeded) => {
      if (reported) return;
      reported = true;
      if (succeeded === true) this.#circuits.delete(route);
      else if (succeeded === false) this.#fail(route, cooldown, account, isProbe);
      else if (isProbe) accountIn(circuit, account).probing = false;
    };
  }

  #fail(route: string, cooldown: Cooldown, account: string, isProbe: boolean): void {
    const { after, for: duration } = cooldown;
    const circuit = this.#circuits.get(route) ?? { accounts: new Map(), openUntil: 0 };
    this.#circuits.set(route, circuit);
    if (this.#circuits.size > MAX_ROUTES) {
      this.#circuits.delete(this.#circuits.keys().next().value!);
    }
    const own = accountIn(circuit, account);
    own.failures += 1;
    if (isProbe) own.probing = false;
    if (after === 0) return;
    const now = this.#now();
    if (isProbe || own.failures >= after) own.openUntil = now + duration;
    // Requests from before the circuit opened say nothing new.
    if (circuit.openUntil > now) return;
    const needed = Math.max(circuit.openUntil > 0 ? 0 : after, FAILED_PROBES);
    own.counted = Math.min(own.counted + 1, Math.ceil(needed / 2));
    let counted = 0;
    for (const one of circuit.accounts.values()) counted += one.counted;
    if (counted < needed) return;
    circuit.openUntil = now + duration;
    for (const one of circuit.accounts.values()) one.counted = 0;
  }
}

function accountIn({ accounts }: Circuit, account: string): AccountCircuit {
  let own = accounts.get(account);
  if (own === undefined) {
    own = { failures: 0, counted: 0, openUntil: 0, probing: false };
    remember(accounts, account, own, MAX_ACCOUNTS);
  }
  return own;
}
