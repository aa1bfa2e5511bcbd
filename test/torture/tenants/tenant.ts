import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerFaults } from '../answer.ts';
import { type Answer, ask, jsonOf, NoAnswer, type Outgoing } from '../client.ts';
import type { Latencies } from '../latencies.ts';
import type { Outages, Reach } from '../outages.ts';
import type { Violations } from '../violations.ts';

/** What all tenants of a run share. */
export interface Scene {
  readonly url: string;
  /** Where callbacks go. */
  readonly callbacks: string;
  readonly outages: Outages;
  readonly violations: Violations;
  readonly latencies: Latencies;
  /** Milliseconds without an answer after which a request counts as hanging. */
  readonly patience: number;
}

/** A task that the daemon has acknowledged. */
export interface Acknowledged {
  readonly id: string;
  readonly type: 'image' | 'video' | 'audio';
  /** Micro-credits of one output. */
  readonly each: number;
  readonly hasCallback: boolean;
}

/** Milliseconds for which a request is repeated before the tenant counts it as refused for good. */
const PERSISTENCE = 60_000;

/** One well-behaved tenant: it remembers all that was acknowledged, and what it must have cost. */
export class Tenant {
  readonly name: string;
  readonly key: string;
  readonly secret: string;
  readonly scene: Scene;
  readonly tasks: Acknowledged[] = [];
  /** SHA-256 of uploads by their URL. */
  readonly uploads = new Map<string, string>();
  /** Micro-credits of answers that were received whole. */
  spent = 0;
  /** Micro-credits that may have been charged beyond that: answers that a fault cut off. */
  uncertain = 0;
  served = 0;
  /** Requests that were refused outside of faults. */
  refused = 0;
  /** How often each status and code was the reason. */
  readonly refusals = new Map<string, number>();
  #count = 0;

  constructor({ name, key, secret }: { name: string; key: string; secret: string }, scene: Scene) {
    this.name = name;
    this.key = key;
    this.secret = secret;
    this.scene = scene;
  }

  /** A number that no other request of this tenant has. */
  next(): number {
    this.#count += 1;
    return this.#count;
  }

  /**
   * Sends a request as a client would: it repeats what was refused for the moment, and what a fault cut
   * off. Everything else that goes wrong is a violation.
   *
   * @param group of the latencies
   * @param cost micro-credits of a text answer, which is not repeated; null for what can be
   * @returns null where a fault is to blame that nothing came of it
   */
  async send(
    group: string,
    outgoing: Outgoing,
    cost: number | null = null,
  ): Promise<Answer | null> {
    const { url, outages, violations, latencies, patience } = this.scene;
    const sent = { key: this.key, timeout: patience, ...outgoing };
    const until = performance.now() + PERSISTENCE;
    const name = `${this.name} ${group}`;
    while (performance.now() < until) {
      const from = performance.now();
      try {
        const answer = await ask(url, sent);
        const reach = outages.reaching(from, performance.now());
        for (const fault of answerFaults(outgoing.path, answer)) {
          // What cannot be written is answered as the disk's fault, whatever the code.
          violations.add('answers are well-formed, and none is a 500', `${name}: ${fault}`);
        }
        if (answer.status < 400) {
          this.served += 1;
          if (reach.size === 0) latencies.add(group, answer.firstByte);
          return answer;
        }
        if (!isExcused(answer.status, reach, cost !== null)) {
          this.refused += 1;
          const { error } = jsonOf(answer) as { error?: { code?: string; message?: string } };
          const why = `${answer.status} ${error?.code} (${error?.message})`;
          this.refusals.set(why, (this.refusals.get(why) ?? 0) + 1);
          const passing = answer.status === 503 || answer.status === 429;
          if (!passing) {
            const told = `${name}: ${answer.status} ${answer.body.subarray(0, 300).toString()}`;
            violations.add('good requests succeed', told);
            return null;
          }
        }
        if (cost !== null && reach.size > 0) {
          this.uncertain += cost;
          return null;
        }
        const seconds = Math.min(2, Number(answer.headers['retry-after'] ?? 0.5));
        await sleep(seconds * 1000);
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error;
        const reach = outages.reaching(from, performance.now());
        if (!reach.has('all')) {
          violations.add('no connection is cut, and nothing hangs', `${name}: ${error.message}`);
        }
        if (cost !== null) {
          this.uncertain += cost;
          return null;
        }
        await sleep(250);
      }
    }
    const reach = outages.reaching(until - PERSISTENCE, performance.now());
    if (reach.size === 0) violations.add('good requests succeed in the end', name);
    return null;
  }

  /** Notes that something is not as it was promised. */
  violates(rule: string, detail: string): void {
    this.scene.violations.add(rule, `${this.name}: ${detail}`);
  }
}

function isExcused(status: number, reach: ReadonlySet<Reach>, isText: boolean): boolean {
  if (reach.has('all') && status >= 429) return true;
  if ((reach.has('disk') || reach.has('worker')) && status >= 502) return true;
  return isText && reach.has('text') && status >= 502;
}

export function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
