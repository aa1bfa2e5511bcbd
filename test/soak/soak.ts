import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openStore } from '../../src/store/drivers/open.ts';
import { machine } from '../bench/machine.ts';
import { WebhookReceiver } from '../media/webhook-receiver.ts';
import { findInconsistencies } from '../store/consistency.ts';
import { configuration, UPSTREAM_KEYS } from '../torture/configuration.ts';
import { Daemon, OWNER_KEY } from '../torture/daemon.ts';
import type { FaultTargets } from '../torture/faults.ts';
import { checkLog } from '../torture/log-check.ts';
import { Outages } from '../torture/outages.ts';
import { Random } from '../torture/random.ts';
import { Tenant } from '../torture/tenants/tenant.ts';
import { Upstream } from '../torture/upstream.ts';
import { Violations } from '../torture/violations.ts';
import { Load, SOAK_WORK } from './load.ts';
import type { Outcome } from './report.ts';
import { Recording, SoakLatencies, sampleWhile } from './samples.ts';
import { DUTIES, oriel, RPM, settle, type Upkeep } from './upkeep.ts';

export interface Settings {
  readonly hours: number;
  readonly seed: string;
  /** Folder of the samples. */
  readonly out: string;
  /** Milliseconds after which a request without a response counts as hanging. */
  readonly hang: number;
  readonly progress: (line: string) => void;
}

/** Share of the capacity that the load takes. */
const SHARE = 0.3;
/** Tenants that work while as many others are compared. */
const AT_ONCE = 2;
/** Bounds of the seconds of a turn, in which every duty is done once; there are at least four. */
const TURN = { least: 20, most: 300 };
/** Seconds for the comparison of a turn's work, at most: retention must not delete it before. */
const COMPARISON = 240;
/** Share of the time after which the daemon has all it caches. */
const WARM_UP = 0.25;
const METRICS_TOKEN = 'soak-metrics';
/** Megabytes of V8's old generation, so that what can be freed is freed in time. */
const HEAP = 768;

/** Runs the load for the whole time, with samples in the folder `out`, and compares the acknowledged work. */
export async function soak(settings: Settings): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'oriel-soak-'));
  const closers: (() => unknown)[] = [];
  try {
    return await inFolder(settings, folder, closers);
  } finally {
    for (const close of closers.reverse()) await close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function inFolder(
  { hours, seed, out, hang, progress }: Settings,
  folder: string,
  closers: (() => unknown)[],
): Promise<Outcome> {
  const [data, logs, backups] = ['data', 'logs', 'backups'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const each of [data, logs, out]) mkdirSync(each, { recursive: true });
  const seconds = hours * 3600;
  const turn = Math.min(TURN.most, Math.max(TURN.least, seconds / 4));
  const retention = turn + COMPARISON;
  const kept = `${Math.round(retention)}s`;
  const upstream = new Upstream();
  await upstream.start();
  closers.push(() => upstream.kill());
  const receiver = await WebhookReceiver.open((nth) => ({ status: nth % 15 === 0 ? 500 : 204 }));
  closers.push(() => receiver.close());
  const log = join(logs, 'oriel.log');
  const daemon = await Daemon.prepare(folder, data, HEAP, log);
  let keys = 0;
  const configure = (models?: object) => {
    const { providers, ...rest } = configuration(upstream.url, daemon.port, models) as {
      providers: Record<string, object>;
    };
    keys += 1;
    const [openai, anthropic] = UPSTREAM_KEYS.map((key) => `${key}-${keys}`);
    return {
      ...rest,
      providers: {
        ...providers,
        openai: { ...providers['openai'], apiKey: openai },
        anthropic: { ...providers['anthropic'], apiKey: anthropic },
      },
      // What is kept has a bound, so that a flat line can be told from a rising one.
      limits: { retention: kept, ledgerLines: 1000 },
      responses: { retention: kept, conversationRetention: kept },
      requests: { maxSize: '1MB' },
      log: { file: log, maxSize: '256KB', keep: 3 },
      metrics: { token: METRICS_TOKEN },
    };
  };
  daemon.configure(configure());
  progress(`the daemon is ready after ${Math.round(await daemon.start())} ms at ${daemon.url}`);
  closers.push(() => daemon.end('SIGKILL'));

  const violations = new Violations();
  const outages = new Outages();
  const small = SOAK_WORK.filter((work) => work.size === 'small').map(({ group }) => group);
  const latencies = new SoakLatencies(small);
  const context = {
    url: daemon.url,
    callbacks: receiver.url,
    outages,
    violations,
    latencies,
    hangTimeout: hang,
  };
  const tenants: Tenant[] = [];
  for (let index = 0; index < 2 * AT_ONCE; index += 1) {
    const options = { rpm: RPM, credits: '10000000' };
    tenants.push(new Tenant(await daemon.account(`tenant-${index}`, options), context));
  }
  const shifts = [tenants.slice(0, AT_ONCE), tenants.slice(AT_ONCE)] as const;
  const load = new Load(new Random(seed), violations);
  load.active = shifts[0];
  const capacity = await load.capacity(Math.min(20, Math.max(5, seconds / 20)));
  await load.drained(shifts[0]);
  const rate = capacity * SHARE;
  progress(`capacity: ${capacity.toFixed(1)} mixed requests a second; ${rate.toFixed(1)} are sent`);
  for (const tenant of tenants) Object.assign(tenant, { served: 0, refused: 0 });

  const settled = retention + turn;
  const isFull = settled < seconds / 2;
  const warmUp = Math.max(seconds * WARM_UP, isFull ? settled : 0);
  const recording = Recording.begin(out, {
    ...{ hours, seed, capacity, rate, warmUp, isFull },
    started: new Date().toISOString(),
    machine: machine(),
  });
  const targets: FaultTargets = {
    ...{ daemon, upstream, violations, disk: null, configuration: configure },
    key: OWNER_KEY,
    during: (scope, work) => outages.during(scope, work),
  };
  const upkeep: Upkeep = { daemon, targets, violations, backups, logs };
  const since = performance.now();
  const now = () => (performance.now() - since) / 1000;
  let isRunning = true;
  const sending = load.at(rate, () => isRunning);
  const sampling = sampleWhile(
    recording,
    { url: daemon.url, token: METRICS_TOKEN, pid: () => daemon.pid, data, logs, latencies },
    { interval: seconds < 600 ? 1000 : 5000, since, isRunning: () => isRunning },
  );
  let compared = 0;
  const turns = Math.max(1, Math.round(seconds / turn));
  for (let number = 0; number < turns; number += 1) {
    if (!daemon.alive) throw new Error(`the daemon ended: ${daemon.errors().slice(-2000)}`);
    const begins = number * turn;
    load.active = shifts[number % 2]!;
    const others = shifts[(number + 1) % 2]!;
    const comparison = load
      .drained(others)
      .then(() => settle(upkeep, others, receiver.received))
      .then((count) => {
        compared += count;
        recording.happened(Math.round(now()), 'client keys changed');
        const rules = violations.all.map(({ rule, examples }) => `; ${rule}: ${examples[0]}`);
        progress(`turn ${number + 1} of ${turns}: compared ${count}${rules.join('')}`);
      });
    for (const [index, duty] of DUTIES.entries()) {
      await sleep(Math.max(0, (begins + ((index + 0.5) / DUTIES.length) * turn - now()) * 1000));
      const at = Math.round(now());
      const done = await duty(upkeep);
      recording.happened(at, done);
      progress(`turn ${number + 1} of ${turns}: ${done}`);
    }
    await comparison;
    await sleep(Math.max(0, (begins + turn - now()) * 1000));
  }
  isRunning = false;
  await Promise.all([sending, sampling]);
  await load.drained(tenants);
  progress('comparing acknowledged work with the stored state');
  compared += await settle(upkeep, tenants, receiver.received);
  const secrets = [OWNER_KEY, daemon.token, METRICS_TOKEN, ...UPSTREAM_KEYS];
  secrets.push(...tenants.flatMap(({ key, secret }) => [key, secret]));
  const code = await daemon.end('SIGTERM');
  if (code !== 0) violations.add('SIGTERM ends the daemon with exit code 0', `it was ${code}`);

  progress('auditing the store and the newest backup');
  const audit = ['store', 'audit', '--config', join(folder, 'oriel.yaml'), '--data'];
  await oriel(upkeep, [...audit, data]);
  const store = await openStore({ directory: join(data, 'store') });
  for (const fault of await findInconsistencies(store))
    violations.add('all sums are consistent', fault);
  await store.close();
  const restored = join(folder, 'restored');
  await oriel(upkeep, ['restore', backups, '--into', restored]);
  await oriel(upkeep, [...audit, restored]);
  for (const name of readdirSync(logs)) await checkLog(join(logs, name), '', secrets, violations);
  const trace = /^\s+at .+/m.exec(daemon.errors());
  if (trace) violations.add('standard error has no stack trace', daemon.errors().slice(0, 600));
  const [served, refused] = (['served', 'refused'] as const).map((name) =>
    tenants.reduce((sum, tenant) => sum + tenant[name], 0),
  ) as [number, number];
  const { skipped } = load;
  return {
    served,
    refused,
    skipped,
    compared,
    violations: violations.all,
    groups: latencies.groups,
  };
}
