import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerFaults } from '../answer.ts';
import { type Answer, ask, jsonOf, NoAnswer, type Outgoing } from '../client.ts';
import type { Latencies } from '../latencies.ts';
import type { FaultScope, Outages } from '../outages.ts';
import type { Violations } from '../violations.ts';

/** State that all tenants of a run share. */
export interface RunContext {
  readonly url: string;
  /** URL for callbacks. */
  readonly callbacks: string;
  readonly outages: Outages;
  readonly violations: Violations;
  readonly latencies: Latencies;
  /** Milliseconds without a response after which a request counts as hanging. */
  readonly hangTimeout: number;
}

/** A task that the daemon has acknowledged. */
export interface Acknowledged {
  readonly id: string;
  readonly type: 'image' | 'video' | 'audio';
  /** Micro-credits of one output. */
  readonly each: number;
  readonly hasCallback: boolean;
}

/** Milliseconds of retries before a request counts as failed. */
const RETRY_TIMEOUT = 60_000;

/** One well-behaved tenant, with its acknowledged work and the cost of that work. */
export class Tenant {
  readonly name: string;
  key: string;
  /** Secret that signs its callbacks. */
  secret: string;
  readonly context: RunContext;
  readonly tasks: Acknowledged[] = [];
  /** SHA-256 of uploads by their URL. */
  readonly uploads = new Map<string, string>();
  /** Micro-credits of completed tasks by their id; tasks of earlier comparisons may be deleted. */
  readonly charged = new Map<string, number>();
  /** Micro-credits of responses that were received whole. */
  spent = 0;
  /** Micro-credits that may have been charged in addition, for responses that a fault interrupted. */
  uncertain = 0;
  served = 0;
  /** Requests that were refused outside of faults. */
  refused = 0;
  /** Number of refusals by status and code. */
  readonly refusals = new Map<string, number>();
  #count = 0;

  constructor(
    { name, key, secret }: { name: string; key: string; secret: string },
    context: RunContext,
  ) {
    this.name = name;
    this.key = key;
    this.secret = secret;
    this.context = context;
  }

  /** Next number of a request, unique within this tenant. */
  next(): number {
    this.#count += 1;
    return this.#count;
  }

  /**
   * Sends a request as a client would: it retries after 429, 503 and failures during an injected fault. Every other
   * failure is a violation.
   *
   * @param group of the latencies
   * @param cost micro-credits of a text response, which is not retried; null for requests that can be
   * @returns null if the request failed because of an injected fault
   */
  async send(
    group: string,
    outgoing: Outgoing,
    cost: number | null = null,
  ): Promise<Answer | null> {
    const { url, outages, violations, latencies, hangTimeout } = this.context;
    const sent = { key: this.key, timeout: hangTimeout, ...outgoing };
    const until = performance.now() + RETRY_TIMEOUT;
    const name = `${this.name} ${group}`;
    while (performance.now() < until) {
      const from = performance.now();
      try {
        const answer = await ask(url, sent);
        const scope = outages.scopesBetween(from, performance.now());
        for (const fault of answerFaults(outgoing.path, answer)) {
          violations.add('answers are well-formed, and none is a 500', `${name}: ${fault}`);
        }
        if (answer.status < 400) {
          this.served += 1;
          if (scope.size === 0) latencies.add(group, answer.firstByte);
          return answer;
        }
        if (!isExcused(answer.status, scope, cost !== null)) {
          this.refused += 1;
          const { error } = jsonOf(answer) as { error?: { code?: string; message?: string } };
          const why = `${answer.status} ${error?.code} (${error?.message})`;
          this.refusals.set(why, (this.refusals.get(why) ?? 0) + 1);
          const passing = answer.status === 503 || answer.status === 429;
          if (!passing) {
            const text = `${name}: ${answer.status} ${answer.body.subarray(0, 300).toString()}`;
            violations.add('good requests succeed', text);
            return null;
          }
        }
        if (cost !== null && scope.size > 0) {
          this.uncertain += cost;
          return null;
        }
        const seconds = Math.min(2, Number(answer.headers['retry-after'] ?? 0.5));
        await sleep(seconds * 1000);
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error;
        const scope = outages.scopesBetween(from, performance.now());
        if (!scope.has('all')) {
          violations.add('no connection is cut, and nothing hangs', `${name}: ${error.message}`);
        }
        if (cost !== null) {
          this.uncertain += cost;
          return null;
        }
        await sleep(250);
      }
    }
    const scope = outages.scopesBetween(until - RETRY_TIMEOUT, performance.now());
    if (scope.size === 0) violations.add('good requests succeed in the end', name);
    return null;
  }

  /** Reports a violation of a rule. */
  violates(rule: string, detail: string): void {
    this.context.violations.add(rule, `${this.name}: ${detail}`);
  }
}

function isExcused(status: number, scope: ReadonlySet<FaultScope>, isText: boolean): boolean {
  if (scope.has('all') && status >= 429) return true;
  if ((scope.has('disk') || scope.has('worker')) && status >= 502) return true;
  return isText && scope.has('text') && status >= 502;
}

export const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
