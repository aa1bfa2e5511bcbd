import type { ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import type { PostgresServer } from '../engines/postgres.ts';
import type { TestRedis } from '../engines/redis.ts';
import type { Random } from '../media/kill/random.ts';
import type { Upstream } from '../media/kill/upstream.ts';
import type { Cluster, ClusterNode } from './cluster.ts';
import type { RevocationProbe } from './revocation-probe.ts';
import type { StorageProxy } from './storage-proxy.ts';

/** Longer than the lease of a node. */
const PAST_LEASE_MS = 17_000;

/** Kinds of faults in the order in which they come. */
const TURNS = [
  'kill',
  'postgres',
  'kill',
  'redis',
  'postgres',
  'kill',
  'storageRefuses',
  'storageOverloaded',
  'kill',
  'storageStalls',
] as const;

type FaultKind = (typeof TURNS)[number] | 'pause';

interface Parts {
  readonly random: Random;
  readonly cluster: Cluster;
  readonly postgres: PostgresServer;
  readonly redis: TestRedis;
  readonly storage: StorageProxy;
  /** Process of the service behind `storage`. */
  readonly gateway: ChildProcess;
  readonly probe: RevocationProbe;
  /** Key of an account whose tasks nothing else looks at. */
  readonly key: string;
}

/**
 * Causes faults of a cluster and of what it uses. A fault of one part may last while others have theirs, and one
 * node is always up.
 */
export class ClusterFaults {
  readonly #parts: Parts;
  /** What is being mended, by the part: a node, or the name of a service. */
  readonly #mending = new Map<unknown, Promise<void>>();
  readonly #failures: unknown[] = [];
  /** The node that was stopped last. */
  #paused: ClusterNode | undefined;
  readonly counts: Record<FaultKind, number> = {
    kill: 0,
    postgres: 0,
    redis: 0,
    storageRefuses: 0,
    storageOverloaded: 0,
    storageStalls: 0,
    pause: 0,
  };
  /** Tasks that nodes gave up because they came back after the end of their leases. */
  lostClaims = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Causes the fault with a number from 1 on. */
  async cause(number: number, upstream: Upstream): Promise<void> {
    if (this.#failures.length > 0) throw this.#failures[0];
    if (number % 20 === 4) await this.#pause(upstream);
    else await this.#turn(TURNS[number % TURNS.length]!);
    if (number % 20 === 11) {
      const { probe } = this.#parts;
      await this.#during(probe, async () => (await probe.prepare())());
    }
  }

  /** Resolves when no fault lasts. @throws the first error of causing or mending one */
  async ended(): Promise<void> {
    while (this.#mending.size > 0) await Promise.all(this.#mending.values());
    if (this.#failures.length > 0) throw this.#failures[0];
  }

  /** Mends a part while other faults go on, after the fault of it that lasts. */
  async #during(part: unknown, work: () => Promise<void>): Promise<void> {
    await this.#mending.get(part);
    const mending = work()
      .catch((error: unknown) => {
        this.#failures.push(error);
      })
      .finally(() => this.#mending.delete(part));
    this.#mending.set(part, mending);
  }

  async #turn(kind: Exclude<FaultKind, 'pause'>): Promise<void> {
    this.counts[kind] += 1;
    const { random, postgres, redis, storage, gateway } = this.#parts;
    const duration = random.whole(0, 1000);
    switch (kind) {
      case 'kill':
        return this.#kill(duration);
      case 'postgres':
        return this.#during(kind, async () => {
          postgres.stop();
          await delay(duration);
          postgres.start();
        });
      case 'redis':
        return this.#during(kind, async () => {
          await redis.kill();
          await delay(duration);
          await redis.restart();
        });
      case 'storageRefuses':
        return this.#during('storage', async () => {
          storage.refuse();
          await delay(2 * duration);
          await storage.accept();
        });
      case 'storageOverloaded':
        return this.#during('storage', async () => {
          storage.overload();
          await delay(2 * duration);
          await storage.accept();
        });
      case 'storageStalls':
        return this.#during('storage', async () => {
          gateway.kill('SIGSTOP');
          await delay(200 + 2 * duration);
          gateway.kill('SIGCONT');
        });
    }
  }

  async #kill(duration: number): Promise<void> {
    const node = await this.#anyNode();
    await this.#during(node, async () => {
      await node.end('SIGKILL');
      await delay(duration);
      await node.start();
    });
  }

  /** A node that is up while another one is as well. */
  async #anyNode(): Promise<ClusterNode> {
    for (;;) {
      const up = this.#parts.cluster.nodes.filter((node) => !this.#mending.has(node));
      if (up.length > 1) return this.#parts.random.pick(up);
      await Promise.race(this.#mending.values());
    }
  }

  /**
   * Stops a node during calls to the upstream until its lease is over. The others take over its tasks, and it
   * gives them up when it comes back.
   */
  async #pause(upstream: Upstream): Promise<void> {
    const { probe } = this.#parts;
    await Promise.all([this.#mending.get('postgres'), this.#mending.get(this.#paused)]);
    const revoke = await probe.prepare();
    const release = upstream.hold();
    await this.#createTask();
    const node = await this.#nodeWithTasks().finally(() => {
      // An answer that comes in this moment ends no task of a stopped process.
      setImmediate(release);
    });
    node.pause();
    this.#paused = node;
    this.counts.pause += 1;
    await this.#during(node, async () => {
      const before = node.lostClaims;
      // The proxy may send it to the node that is stopped: then it is done when that comes back.
      const revoked = revoke();
      await delay(PAST_LEASE_MS);
      node.resume();
      await revoked;
      await probe.checkAll(node.url);
      await expect.poll(() => node.lostClaims).toBeGreaterThan(before);
      this.lostClaims += node.lostClaims - before;
    });
  }

  async #createTask(): Promise<void> {
    const { cluster, key } = this.#parts;
    await cluster.ask('/v1/images/generations', key, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'drawn', prompt: 'do it well', size: '1024x1024' }),
    });
  }

  /** A node that is up and waits for the upstream. */
  async #nodeWithTasks(): Promise<ClusterNode> {
    const { cluster, postgres } = this.#parts;
    for (let attempt = 0; attempt < 1000; attempt += 1) {
      const names = postgres.sql(`
        SELECT n.name FROM oriel.tasks AS t JOIN oriel.nodes AS n ON n.id = t.node
        WHERE t.status = 'processing' AND t.model = 'drawn' AND n.alive_until > now()`);
      const node = cluster.nodes.find(
        (one) => !this.#mending.has(one) && names.includes(`:${new URL(one.url).port}\n`),
      );
      if (node) return node;
      await delay(100);
    }
    throw new Error('no node has a task under way');
  }
}
