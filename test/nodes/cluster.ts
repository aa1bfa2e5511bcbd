import { setTimeout as delay } from 'node:timers/promises';
import { endOfAudit, startDaemon, type TestDaemon } from '../daemon.ts';
import type { AuditedService } from '../media/kill/service.ts';
import type { Answer } from '../media/kill/victim.ts';
import { temporaryFolder } from '../oriel.ts';

const CLAIM_LOST = 'another node has taken over a task of this one';

/** A daemon of a cluster, which comes back at the same address with its own data folder. */
export class ClusterNode {
  readonly data = temporaryFolder();
  readonly #config: object;
  #port: number;
  #daemon: TestDaemon | undefined;

  constructor(port: number, config: object) {
    this.#port = port;
    this.#config = config;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get daemon(): TestDaemon {
    return this.#daemon!;
  }

  /** Tasks under way that its process gave up because another node has them. */
  get lostClaims(): number {
    return this.daemon.log.filter(({ msg }) => msg === CLAIM_LOST).length;
  }

  async start(): Promise<void> {
    const config = { ...this.#config, dataDir: this.data };
    this.#daemon = await startDaemon({
      data: this.data,
      config,
      args: ['--port', `${this.#port}`],
    });
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    // A process that is stopped handles no other signal.
    this.#daemon?.child.kill('SIGCONT');
    if (this.#daemon) await endOfAudit(this.#daemon, signal);
  }

  /** Stops it as it is: its lease runs out while it knows nothing of it. */
  pause(): void {
    this.#daemon?.child.kill('SIGSTOP');
  }

  resume(): void {
    this.#daemon?.child.kill('SIGCONT');
  }
}

interface ClusterOptions {
  readonly ports: readonly number[];
  /** Address of the proxy in front of the nodes. */
  readonly url: string;
  readonly config: object;
}

/** Several daemons on one database, behind a proxy. */
export class Cluster implements AuditedService {
  readonly nodes: readonly ClusterNode[];
  readonly url: string;
  readonly statuses = new Map<number, number>();
  lost = 0;

  constructor({ ports, url, config }: ClusterOptions) {
    this.nodes = ports.map((port) => new ClusterNode(port, config));
    this.url = url;
  }

  /** Starts the first node before the others, so that it alone migrates the database. */
  async start(): Promise<void> {
    const [first, ...others] = this.nodes;
    await first!.start();
    await Promise.all(others.map((node) => node.start()));
  }

  async ask(path: string, key: string, init: RequestInit = {}): Promise<Answer> {
    for (;;) {
      try {
        const headers = { ...init.headers, authorization: `Bearer ${key}` };
        const response = await fetch(new URL(path, this.url), { ...init, headers });
        const bytes = Buffer.from(await response.arrayBuffer());
        const { status } = response;
        this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
        // 502 and 504 are the proxy's: the node behind it has died.
        if (![502, 503, 504].includes(status)) return { status, headers: response.headers, bytes };
        if (status !== 503) this.lost += 1;
        await delay(50);
      } catch {
        this.lost += 1;
        await delay(5);
      }
    }
  }

  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.end(signal)));
  }
}
