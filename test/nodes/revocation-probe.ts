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
  readonly faults: string[] = [];
  count = 0;

  /** @param owner key of the owner */
  constructor(cluster: Cluster, owner: string, account: string) {
    this.#cluster = cluster;
    this.#owner = owner;
    this.#account = account;
  }

  async revoke(): Promise<void> {
    this.count += 1;
    const { id, key } = await this.#run<{ id: string; key: string }>('keys/create', {
      account: this.#account,
      name: `probe-${this.count}`,
    });
    // Every node has the key in memory.
    await Promise.all(this.#cluster.nodes.map(({ url }) => this.#statusOf(url, key)));
    await this.#run('keys/revoke', { id });
    await delay(BOUND_MS);
    for (const { url } of this.#cluster.nodes) {
      const status = await this.#statusOf(url, key);
      // A node that is down or waits for the database accepts nothing.
      if (status === 200) this.faults.push(`${url} accepts a revoked key`);
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
