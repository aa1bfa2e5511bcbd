import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { openStore } from '../../src/store/drivers/open.ts';
import { WebhookReceiver } from '../media/webhook-receiver.ts';
import { findInconsistencies } from '../store/consistency.ts';
import type { AttackContext } from './attacks/attack.ts';
import { ask, form, jsonOf } from './client.ts';
import { configuration, REQUEST_TIMEOUT, SEND_TIMEOUT, UPSTREAM_KEYS } from './configuration.ts';
import { Daemon, OWNER_KEY } from './daemon.ts';
import { Disk } from './disk.ts';
import { FAULTS, type FaultTargets } from './faults.ts';
import { Latencies, type Quantiles } from './latencies.ts';
import { checkLog, type LogErrors } from './log-check.ts';
import type { Command, Message } from './messages.ts';
import { type FaultScope, Outages } from './outages.ts';
import { descriptors, residentBytes, Watch } from './process-tree.ts';
import { Random } from './random.ts';
import { GOOD_WORK, someWork } from './tenants/good-work.ts';
import { type Reconciled, reconcile } from './tenants/reconcile.ts';
import { type RunContext, Tenant } from './tenants/tenant.ts';
import { Upstream } from './upstream.ts';
import { type Violation, Violations } from './violations.ts';

export interface Settings {
  readonly minutes: number;
  readonly seed: string;
  readonly bounds: Bounds;
  /** Parts of the names of the attacks to run; all without it. */
  readonly attacks?: readonly string[];
  readonly progress: (line: string) => void;
}

/** Limits that a run must not exceed. */
export interface Bounds {
  /** Milliseconds to the first byte of good tenants' small requests (p99). */
  readonly p99: number;
  /** The same of small requests for which images are decoded. */
  readonly imageP99: number;
  /** Milliseconds until any request must have its whole response. */
  readonly hangTimeout: number;
  /** Share of good tenants' requests that are served at the first attempt, outside of faults. */
  readonly share: number;
  /** Megabytes of V8's old generation. */
  readonly heap: number;
  /** Peak of resident bytes of the daemon and its children. */
  readonly peak: number;
  /** Resident bytes once the load is over. */
  readonly rest: number;
  /** Open descriptors once the load is over, beyond those before it. */
  readonly descriptors: number;
}

export const BOUNDS: Bounds = {
  p99: 3000,
  imageP99: 15_000,
  hangTimeout: 90_000,
  share: 0.95,
  heap: 768,
  // The heap, native memory of the daemon, and `pool.memory`.
  peak: 4 * 2 ** 30,
  rest: 1.2 * 2 ** 30,
  descriptors: 40,
};

export type Ended = Extract<Message, { type: 'ended' }>;

export interface Report {
  readonly settings: Settings;
  readonly capacity: number;
  readonly attackers: Ended;
  readonly faults: readonly { readonly name: string; readonly outcome: string }[];
  readonly latencies: Latencies;
  readonly small: Quantiles;
  readonly smallImages: Quantiles;
  /** Event loop delay of the harness, in milliseconds (p99). */
  readonly harnessDelay: number;
  readonly tenants: readonly {
    readonly name: string;
    readonly served: number;
    readonly refused: number;
  }[];
  readonly compared: Reconciled;
  readonly peakBytes: number;
  readonly peakDescriptors: number;
  readonly restBytes: number;
  readonly logLines: number;
  readonly logErrors: LogErrors;
  readonly violations: readonly Violation[];
}

/** Requests of bad tenants, as a multiple of the capacity. */
const OVERLOAD = 5;
const GOOD_TENANTS = 3;
const BAD_TENANTS = 4;
/** Concurrent requests of one good tenant. */
const CONCURRENCY = 3;
/** Milliseconds between two requests of one loop, on average. */
const PAUSE = 350;
/** Shares of the time: before the faults, in which every attack runs at least once, and of the faults. */
const SHARE_BEFORE_FAULTS = 0.5;
const SHARE_OF_FAULTS = 0.35;
/** Minutes from which on attacks are repeated. */
const LONGER_RUN = 3;
/** Milliseconds that faults wait at most for the first round of attacks on a slow machine. */
const FIRST_ROUND_TIMEOUT = 120_000;
/** Milliseconds until memory and descriptors must be released once the load is over. */
const RELEASE_TIMEOUT = 90_000;

/** Runs load, attacks and faults, and compares the acknowledged work with the stored state. */
export async function torture(settings: Settings): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), 'oriel-torture-'));
  const data = join(folder, 'data');
  const disk = Disk.mount(data);
  const closers: (() => unknown)[] = [];
  try {
    return await inFolder(settings, folder, data, disk, closers);
  } finally {
    for (const close of closers.reverse()) await close();
    disk?.unmount();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function inFolder(
  settings: Settings,
  folder: string,
  data: string,
  disk: Disk | null,
  closers: (() => unknown)[],
): Promise<Report> {
  const { minutes, seed, bounds, progress } = settings;
  const upstream = new Upstream();
  await upstream.start();
  closers.push(() => upstream.kill());
  const receiver = await WebhookReceiver.open((nth) => ({ status: nth % 15 === 0 ? 500 : 204 }));
  closers.push(() => receiver.close());
  const daemon = await Daemon.prepare(folder, data, bounds.heap);
  const configure = (models?: object) => configuration(upstream.url, daemon.port, models);
  daemon.configure(configure());
  progress(`the daemon is ready after ${Math.round(await daemon.start())} ms at ${daemon.url}`);
  closers.push(() => daemon.end('SIGKILL'));

  const violations = new Violations();
  const outages = new Outages();
  const latencies = new Latencies();
  const context: RunContext = {
    url: daemon.url,
    callbacks: receiver.url,
    outages,
    violations,
    latencies,
    hangTimeout: bounds.hangTimeout,
  };
  const accounts = async (name: string, count: number, options: object) =>
    Promise.all(
      Array.from({ length: count }, (_, index) => daemon.account(`${name}-${index}`, options)),
    );
  const tenants = (await accounts('good', GOOD_TENANTS, {})).map(
    (each) => new Tenant(each, context),
  );
  const bad = await accounts('bad', BAD_TENANTS, { rpm: 1_000_000, credits: '100000000' });
  const free = await daemon.account('free', { plan: 'free', rpm: 6000, credits: '1000' });

  progress('warm-up: every kind of request of good tenants, without load');
  for (const tenant of tenants) {
    const random = new Random(`${seed}:warm-up:${tenant.name}`);
    for (const work of GOOD_WORK) await work.run(tenant, random);
  }
  const idle = { descriptors: descriptors(daemon.pid), bytes: residentBytes(daemon.pid) };
  progress(`at rest: ${idle.descriptors} descriptors, ${megabytes(idle.bytes)} resident`);

  const attackContext: AttackContext = {
    url: daemon.url,
    keys: bad.map(({ key }) => key),
    freeKey: free.key,
    asset: await largeAsset(daemon.url, bad[0]!.key),
    sendTimeout: SEND_TIMEOUT,
    requestTimeout: REQUEST_TIMEOUT,
    hangTimeout: bounds.hangTimeout,
  };
  const attackers = await startAttackers(progress, closers);
  const seconds = Math.min(10, Math.max(3, minutes * 3));
  attackers.send({ type: 'calibrate', context: attackContext, seed, seconds });
  const { capacity } = await attackers.receive('calibrated');
  progress(`capacity: ${capacity.toFixed(1)} mixed requests a second`);

  const watch = new Watch(() => daemon.pid);
  const delays = monitorEventLoopDelay({ resolution: 10 });
  delays.enable();
  const time = minutes * 60_000;
  let isOver = false;
  const { attacks: only } = settings;
  attackers.send({ type: 'attack', rate: capacity * OVERLOAD, ...(only && { only }) });
  // A second round would not end in time.
  if (minutes < LONGER_RUN) attackers.send({ type: 'last rounds' });
  const watching = restartAfterCrash(daemon, outages, violations);
  const during = async (scope: FaultScope, work: () => Promise<void>) => {
    attackers.send({ type: 'outage', scope, begins: true });
    try {
      await outages.during(scope, work);
    } finally {
      attackers.send({ type: 'outage', scope, begins: false });
    }
  };
  const machine: FaultTargets = {
    daemon,
    upstream,
    disk,
    violations,
    key: tenants[0]!.key,
    configuration: configure,
    during,
  };
  const tenantLoops = tenants.flatMap((tenant) =>
    Array.from({ length: CONCURRENCY }, (_, index) => {
      const random = new Random(`${seed}:${tenant.name}:${index}`);
      return runTenant(tenant, random, () => !isOver);
    }),
  );
  const firstRound = attackers.receive('first round');
  await Promise.all([
    sleep(time * SHARE_BEFORE_FAULTS),
    Promise.race([firstRound, sleep(FIRST_ROUND_TIMEOUT, undefined, { ref: false })]),
  ]);
  const faults = await injectFaults(machine, time * SHARE_OF_FAULTS, watching, progress);
  attackers.send({ type: 'last rounds' });
  await sleep(time * (1 - SHARE_BEFORE_FAULTS - SHARE_OF_FAULTS));
  attackers.send({ type: 'finish' });
  isOver = true;
  await Promise.all(tenantLoops);
  delays.disable();
  progress('the time is over; waiting for the attackers to finish');
  const ended = await attackers.receive('ended');
  attackers.send({ type: 'end' });
  violations.merge(ended.violations);

  progress('comparing acknowledged work with the stored state');
  const compared = { tasks: 0, uploads: 0, callbacks: 0, spent: 0 };
  for (const tenant of tenants) {
    const one = await reconcile(tenant, receiver.received);
    for (const name of ['tasks', 'uploads', 'callbacks', 'spent'] as const)
      compared[name] += one[name];
  }
  progress('waiting for memory and descriptors to return');
  const restBytes = await waitForRelease(daemon, idle.descriptors, bounds, violations);
  watch.end();
  watching.expectsDeath = true;
  const secrets = [
    OWNER_KEY,
    free.key,
    free.secret,
    daemon.token,
    ...UPSTREAM_KEYS,
    ...[...tenants, ...bad].flatMap(({ key, secret }) => [key, secret]),
  ];
  const code = await daemon.end('SIGTERM');
  if (code !== 0)
    violations.add('SIGTERM ends the daemon with exit code 0', `it ended with ${code}`);
  progress('auditing the store');
  const store = await openStore({ directory: join(data, 'store') });
  for (const fault of await findInconsistencies(store))
    violations.add('all sums are consistent', fault);
  await store.close();
  const { lines, logErrors } = await checkLog(
    join(folder, 'log'),
    daemon.errors(),
    secrets,
    violations,
  );

  const small = latencies.of(groupsOf('small'));
  const smallImages = latencies.of(groupsOf('small image'));
  const promised = "good tenants' small requests keep their p99";
  if (small.p99 > bounds.p99) violations.add(promised, `${Math.round(small.p99)} ms`);
  if (smallImages.p99 > bounds.imageP99) {
    violations.add(promised, `${Math.round(smallImages.p99)} ms with images`);
  }
  for (const { name, served, refused, refusals } of tenants) {
    if (served / (served + refused) < bounds.share) {
      const why = [...refusals].map(([reason, count]) => `${count} × ${reason}`).join(', ');
      violations.add('good tenants get their share', `${name}: ${served} served, refused: ${why}`);
    }
  }
  if (watch.peakBytes > bounds.peak) {
    violations.add('memory stays bounded', `${megabytes(watch.peakBytes)} resident at the most`);
  }
  return {
    settings,
    capacity,
    attackers: ended,
    faults,
    latencies,
    small,
    smallImages,
    harnessDelay: delays.percentile(99) / 1e6,
    tenants: tenants.map(({ name, served, refused }) => ({ name, served, refused })),
    compared,
    peakBytes: watch.peakBytes,
    peakDescriptors: watch.peakDescriptors,
    restBytes,
    logLines: lines,
    logErrors,
    violations: violations.all,
  };
}

function groupsOf(size: 'small' | 'small image'): string[] {
  return GOOD_WORK.filter((work) => work.size === size).map(({ group }) => group);
}

export const megabytes = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MB`;

/** Sends one request of a good tenant after the other, with pauses. */
async function runTenant(tenant: Tenant, random: Random, isRunning: () => boolean): Promise<void> {
  while (isRunning()) {
    await someWork(random).run(tenant, random);
    await sleep(random.fraction() * 2 * PAUSE);
  }
}

/** Uploads an image of several megabytes, more than the kernel buffers for a connection. */
async function largeAsset(url: string, key: string): Promise<string> {
  const noise = { type: 'gaussian', mean: 128, sigma: 60 } as const;
  const value = await sharp({
    create: { width: 2000, height: 2000, channels: 3, background: 'black', noise },
  })
    .png({ compressionLevel: 1 })
    .toBuffer();
  const parts = [{ name: 'file', value, filename: 'a.png' }];
  const answer = await ask(url, { method: 'POST', path: '/v1/images/upload', key, ...form(parts) });
  return new URL((jsonOf(answer) as { url: string }).url).pathname;
}

interface Attackers {
  send(command: Command): void;
  receive<Type extends Message['type']>(type: Type): Promise<Extract<Message, { type: Type }>>;
}

async function startAttackers(
  progress: (line: string) => void,
  closers: (() => unknown)[],
): Promise<Attackers> {
  const child: ChildProcess = fork(fileURLToPath(new URL('./attack-process.js', import.meta.url)));
  closers.push(() => child.kill('SIGKILL'));
  const received: Message[] = [];
  const waiting = new Set<() => void>();
  child.on('message', (message: Message) => {
    if (message.type === 'progress') progress(message.line);
    else received.push(message);
    for (const check of waiting) check();
  });
  let isOver = false;
  child.once('exit', () => {
    isOver = true;
    for (const check of waiting) check();
  });
  const attackers: Attackers = {
    send: (command) => {
      if (child.connected) child.send(command);
    },
    receive: (type) =>
      new Promise((resolve, reject) => {
        const check = () => {
          const found = received.find((message) => message.type === type);
          if (found === undefined && !isOver) return;
          waiting.delete(check);
          if (found === undefined) reject(new Error('the attackers ended early'));
          else resolve(found as never);
        };
        waiting.add(check);
        check();
      }),
  };
  await attackers.receive('ready');
  return attackers;
}

interface Watching {
  /** Whether an injected fault ends the daemon. */
  expectsDeath: boolean;
}

/** Reports a crash of the daemon as a violation, and restarts it so that the run goes on. */
function restartAfterCrash(daemon: Daemon, outages: Outages, violations: Violations): Watching {
  const watching: Watching = { expectsDeath: false };
  let isStarting = false;
  const timer = setInterval(() => {
    if (daemon.alive || watching.expectsDeath || isStarting) return;
    isStarting = true;
    violations.add(
      'the daemon stays alive',
      `${daemon.errors().slice(-400)} ${daemon.log().slice(-400)}`,
    );
    outages
      .during('all', async () => {
        await daemon.start();
      })
      .catch((error: unknown) => violations.add('the daemon starts again', String(error)))
      .finally(() => {
        isStarting = false;
      });
  }, 100);
  timer.unref();
  return watching;
}

async function injectFaults(
  machine: FaultTargets,
  milliseconds: number,
  watching: Watching,
  progress: (line: string) => void,
): Promise<Report['faults']> {
  const started = performance.now();
  const step = milliseconds / FAULTS.length;
  const injected: { name: string; outcome: string }[] = [];
  for (const [index, fault] of FAULTS.entries()) {
    await sleep(Math.max(0, started + index * step - performance.now()));
    watching.expectsDeath = true;
    const outcome = await fault.inject(machine);
    watching.expectsDeath = false;
    progress(`fault: ${fault.name}, ${outcome}`);
    injected.push({ name: fault.name, outcome });
  }
  return injected;
}

/** Waits until the daemon has released memory and descriptors of the load. @returns resident bytes then */
async function waitForRelease(
  daemon: Daemon,
  before: number,
  bounds: Bounds,
  violations: Violations,
): Promise<number> {
  const until = performance.now() + RELEASE_TIMEOUT;
  for (;;) {
    const bytes = residentBytes(daemon.pid);
    const open = descriptors(daemon.pid);
    const isOpen = open > before + bounds.descriptors;
    if (!isOpen && bytes <= bounds.rest) return bytes;
    if (performance.now() > until) {
      if (isOpen) violations.add('descriptors return', `${open} are open, ${before} were before`);
      if (bytes > bounds.rest) violations.add('memory returns', `${megabytes(bytes)} are resident`);
      return bytes;
    }
    await sleep(1000);
  }
}
