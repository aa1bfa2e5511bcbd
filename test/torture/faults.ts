import { setTimeout as sleep } from 'node:timers/promises';
import { ask, jsonOf } from './client.ts';
import type { Daemon } from './daemon.ts';
import type { Disk } from './disk.ts';
import type { FaultScope } from './outages.ts';
import { descendants } from './process-tree.ts';
import type { Upstream } from './upstream.ts';
import type { Violations } from './violations.ts';

/** Processes, disk and configuration that faults are injected into. */
export interface FaultTargets {
  readonly daemon: Daemon;
  readonly upstream: Upstream;
  readonly disk: Disk | null;
  readonly violations: Violations;
  readonly key: string;
  /** The configuration with further models. */
  readonly configuration: (models?: object) => object;
  /** Runs work during which requests in the scope may fail. */
  readonly during: (scope: FaultScope, work: () => Promise<void>) => Promise<void>;
}

export interface Fault {
  readonly name: string;
  /** @returns the outcome for the report, or the reason for skipping the fault */
  inject(targets: FaultTargets): Promise<string>;
}

/** Duration of a fault, in milliseconds. */
const FAULT_DURATION = 3000;

/** Milliseconds for charges to be written after the store accepts writes again. */
const RECOVERY_WRITES = 1000;

const RELOADS = 'a changed configuration counts, a broken one does not';

async function models({ daemon, key }: FaultTargets): Promise<string[]> {
  try {
    const answer = await ask(daemon.url, { path: '/v1/models', key });
    const { data } = (jsonOf(answer) ?? {}) as { data?: { id: string }[] };
    return data?.map(({ id }) => id) ?? [];
  } catch {
    return [];
  }
}

/** Waits until the daemon has written what it held in memory while the disk was full: a kill before would lose it. */
async function recovers({ daemon, violations }: FaultTargets): Promise<void> {
  const isReady = async () => {
    const answer = await ask(daemon.url, { path: '/readyz' }).catch(() => null);
    return answer?.status === 200;
  };
  if (await becomes(isReady, 30)) await sleep(RECOVERY_WRITES);
  else violations.add('the store recovers from a full disk', '/readyz is not 200 after 30 s');
}

function appears(targets: FaultTargets, model: string): Promise<boolean> {
  return becomes(async () => (await models(targets)).includes(model), 20);
}

/** Whether a condition holds within some seconds. */
async function becomes(holds: () => Promise<boolean>, seconds: number): Promise<boolean> {
  for (let attempt = 0; attempt < seconds * 5; attempt += 1) {
    if (await holds()) return true;
    await sleep(200);
  }
  return false;
}

const reload: Fault = {
  name: 'SIGHUP with a changed configuration',
  async inject(targets) {
    const { daemon, configuration, violations } = targets;
    const name = `reloaded-${Date.now()}`;
    const routes = [{ provider: 'sandbox', model: 'chat' }];
    daemon.configure(configuration({ [name]: { type: 'text', routes } }));
    daemon.signal('SIGHUP');
    if (await appears(targets, name)) return 'the new model is in the catalog';
    violations.add(RELOADS, `${name} is not in the catalog`);
    return 'failed';
  },
};

const brokenReload: Fault = {
  name: 'SIGHUP with a broken configuration',
  async inject(targets) {
    const { daemon, configuration, violations } = targets;
    daemon.configure({ server: { port: 'none' }, models: 7 });
    daemon.signal('SIGHUP');
    await sleep(1000);
    const known = await models(targets);
    if (!known.includes('to-chat')) violations.add(RELOADS, `the catalog is ${known.join()}`);
    daemon.configure(configuration());
    return 'the configuration before it stays';
  },
};

const deadUpstream: Fault = {
  name: 'upstream dead and back',
  async inject({ upstream, during }) {
    await during('text', async () => {
      await upstream.kill();
      await sleep(FAULT_DURATION);
      await upstream.start();
    });
    return `dead for ${FAULT_DURATION / 1000} s`;
  },
};

const fullDisk: Fault = {
  name: 'disk full',
  async inject(targets) {
    const { disk, during } = targets;
    if (disk === null) return 'skipped: needs root and a tmpfs';
    await during('disk', async () => {
      disk.fill();
      await sleep(FAULT_DURATION);
      disk.empty();
      await recovers(targets);
    });
    return `full for ${FAULT_DURATION / 1000} s`;
  },
};

const deadWorker: Fault = {
  name: 'process of image work killed',
  async inject({ daemon, during }) {
    const [pid] = descendants(daemon.pid);
    if (pid === undefined) return 'skipped: the daemon has no child processes';
    await during('worker', async () => {
      process.kill(pid, 'SIGKILL');
      await sleep(1000);
    });
    return `killed ${pid}`;
  },
};

const stopped: Fault = {
  name: 'SIGSTOP and SIGCONT',
  async inject({ daemon, during }) {
    await during('all', async () => {
      daemon.signal('SIGSTOP');
      await sleep(FAULT_DURATION);
      daemon.signal('SIGCONT');
    });
    return `stopped for ${FAULT_DURATION / 1000} s`;
  },
};

const killed: Fault = {
  name: 'kill -9 and start',
  async inject({ daemon, during }) {
    let ready = 0;
    await during('all', async () => {
      await daemon.end('SIGKILL');
      ready = await daemon.start();
    });
    return `ready again after ${Math.round(ready)} ms`;
  },
};

/** All faults, in the order of their injection. */
export const FAULTS: readonly Fault[] = [
  reload,
  deadUpstream,
  brokenReload,
  deadWorker,
  fullDisk,
  stopped,
  killed,
];
