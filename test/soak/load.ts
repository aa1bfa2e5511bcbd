import { setTimeout as sleep } from 'node:timers/promises';
import { OWNER_KEY } from '../torture/daemon.ts';
import type { Random } from '../torture/random.ts';
import { GOOD_WORK, someWork, type Work } from '../torture/tenants/good-work.ts';
import type { Tenant } from '../torture/tenants/tenant.ts';
import type { Violations } from '../torture/violations.ts';

const CONSOLE = [
  '/console',
  '/v1/admin/status',
  '/v1/admin/overview',
  '/v1/admin/models',
  '/v1/admin/usage',
  '/v1/admin/requests?limit=20',
];

const operator: Work = {
  group: 'console and its API',
  weight: 4,
  size: 'small',
  async run(tenant, random) {
    await tenant.send('console and its API', { path: random.pick(CONSOLE), key: OWNER_KEY });
  },
};

export const SOAK_WORK: readonly Work[] = [...GOOD_WORK, operator];

/** Milliseconds between two computations of the requests that are due. */
const TICK = 20;
/** Open requests beyond which none is sent. */
const MOST_OPEN = 256;

/** Mixed requests of the tenants whose turn it is. */
export class Load {
  readonly #random: Random;
  readonly #violations: Violations;
  readonly #open = new Map<Tenant, Set<Promise<void>>>();
  active: readonly Tenant[] = [];
  /** Requests that were due but not sent, because too many were open. */
  skipped = 0;

  constructor(random: Random, violations: Violations) {
    this.#random = random;
    this.#violations = violations;
  }

  #one(): Promise<void> {
    const tenant = this.#random.pick(this.active);
    const open = this.#open.get(tenant) ?? new Set();
    this.#open.set(tenant, open);
    const running: Promise<void> = someWork(this.#random, SOAK_WORK)
      .run(tenant, this.#random)
      .catch((error: unknown) => {
        this.#violations.add('requests can be read', String((error as Error).stack));
      })
      .finally(() => open.delete(running));
    open.add(running);
    return running;
  }

  /** Requests a second that the daemon serves with 16 concurrent requests. */
  async capacity(seconds: number): Promise<number> {
    const started = performance.now();
    const until = started + seconds * 1000;
    let served = 0;
    const worker = async () => {
      for (; performance.now() < until; served += 1) await this.#one();
    };
    await Promise.all(Array.from({ length: 16 }, worker));
    return Math.max(1, served / ((performance.now() - started) / 1000));
  }

  /** Sends requests at a rate a second while `isRunning`, whether or not the daemon keeps up. */
  async at(rate: number, isRunning: () => boolean): Promise<void> {
    let due = 0;
    let last = performance.now();
    while (isRunning()) {
      await sleep(TICK);
      const now = performance.now();
      due += ((now - last) / 1000) * rate;
      last = now;
      const open = [...this.#open.values()].reduce((sum, { size }) => sum + size, 0);
      for (; due >= 1; due -= 1) {
        if (open >= MOST_OPEN) this.skipped += 1;
        else void this.#one();
      }
    }
  }

  /** Waits until the open requests of tenants have ended, which get no new ones. */
  async drained(tenants: readonly Tenant[]): Promise<void> {
    for (const tenant of tenants) await Promise.all(this.#open.get(tenant) ?? []);
  }
}
