import { setTimeout as delay } from 'node:timers/promises';
import { jsonOf } from '../media/kill/victim.ts';
import type { Cluster } from './cluster.ts';

/** Milliseconds after which every node refuses a revoked key. */
const BOUND_MS = 1000;

/** Revokes keys on one node, and looks whether all nodes refuse them in time. */
export class RevocationProbe {
  readonly #cluster: Cluster;
  readonly #owner: string;
  readonly #account: string;
  readonly #revoked: string[] = [];
  readonly faults: string[] = [];
  count = 0;
  checks = 0;

  /** @param owner key of the owner */
  constructor(cluster: Cluster, owner: string, account: string) {
    this.#cluster = cluster;
    this.#owner = owner;
    this.#account = account;
  }

  /** Makes a key that every node has in memory. Returns a function that revokes it and looks at all nodes. */
  async prepare(): Promise<() => Promise<void>> {
    this.count += 1;
    const { id, key } = await this.#run<{ id: string; key: string }>('keys/create', {
      account: this.#account,
      name: `probe-${this.count}`,
    });
    await Promise.all(this.#cluster.nodes.map(({ url }) => this.#statusOf(url, key)));
    return async () => {
      await this.#run('keys/revoke', { id });
      await delay(BOUND_MS);
      this.#revoked.push(key);
      await Promise.all(this.#cluster.nodes.map(({ url }) => this.#check(url, key)));
    };
  }

  /** Looks whether a node refuses every key that was revoked so far. */
  async checkAll(url: string): Promise<void> {
    await Promise.all(this.#revoked.map((key) => this.#check(url, key)));
  }

  async #check(url: string, key: string): Promise<void> {
    this.checks += 1;
    // A node that is down or waits for the database accepts nothing.
    if ((await this.#statusOf(url, key)) === 200) {
      this.faults.push(`${url} accepts a revoked key`);
    }
  }

  async #run<Result>(command: string, body: object): Promise<Result> {
    const answer = await this.#cluster.ask(`/v1/admin/${command}`, this.#owner, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (answer.status !== 200) throw new Error(`${command}: ${answer.bytes.toString()}`);
    return jsonOf<{ result: Result }>(answer).result;
  }

  /** Null without an answer. */
  async #statusOf(url: string, key: string): Promise<number | null> {
    try {
      const signal = AbortSignal.timeout(5000);
      const headers = { authorization: `Bearer ${key}` };
      const response = await fetch(`${url}/v1/account`, { headers, signal });
      await response.arrayBuffer();
      return response.status;
    } catch {
      return null;
    }
  }
}
