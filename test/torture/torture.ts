import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { openStore } from '../../src/store/open.ts';
import { WebhookReceiver } from '../media/webhook-receiver.ts';
import { audit } from '../store/audit.ts';
import type { Arms } from './attacks/attack.ts';
import { ask, form, jsonOf } from './client.ts';
import { configuration, REQUEST_TIMEOUT, SEND_TIMEOUT, UPSTREAM_KEYS } from './configuration.ts';
import { Daemon, OWNER_KEY } from './daemon.ts';
import { Disk } from './disk.ts';
import { FAULTS, type Machine } from './faults.ts';
import { Latencies, type Quantiles } from './latencies.ts';
import { type Complaints, checkLog } from './log-check.ts';
import type { Command, Message } from './messages.ts';
import { Outages, type Reach } from './outages.ts';
import { descriptors, residentBytes, Watch } from './process-tree.ts';
import { Random } from './random.ts';
import { GOOD_WORK, someWork } from './tenants/good-work.ts';
import { type Reconciled, reconcile } from './tenants/reconcile.ts';
import { type Scene, Tenant } from './tenants/tenant.ts';
import { Upstream } from './upstream.ts';
import { type Violation, Violations } from './violations.ts';

export interface Settings {
  readonly minutes: number;
  readonly seed: string;
  readonly bounds: Bounds;
  /** Parts of names of attacks, in the place of all that are not left out. */
  readonly attacks?: readonly string[];
  readonly progress: (line: string) => void;
}

/** What must not be exceeded. */
export interface Bounds {
  /** Milliseconds to the first byte of good tenants' small requests, 99 of 100. */
  readonly p99: number;
  /** The same of small requests for which images are decoded. */
  readonly imageP99: number;
  /** Milliseconds until anybody's request must have been answered whole. */
  readonly patience: number;
  /** Share of good tenants' requests that are served at the first try, outside of faults. */
  readonly share: number;
  /** Megabytes of V8's old generation. */
  readonly heap: number;
  /** Resident bytes of the daemon and its children, at any time. */
  readonly peak: number;
  /** The same, once the load is over. */
  readonly rest: number;
  /** Descriptors beyond those before the load, once it is over. */
  readonly descriptors: number;
}

export const BOUNDS: Bounds = {
  p99: 3000,
  imageP99: 15_000,
  patience: 90_000,
  share: 0.95,
  heap: 768,
  // The heap, native memory of the daemon, and what images may take together.
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
  /** Milliseconds that the harness itself was late, at the worst hundredth. */
  readonly harnessDelay: number;
  readonly tenants: readonly {
    readonly name: string;
    readonly served: number;
    readonly refused: number;
  }[];
  readonly kept: Reconciled;
  readonly peakBytes: number;
  readonly peakDescriptors: number;
  readonly restBytes: number;
  readonly logLines: number;
  readonly complaints: Complaints;
  readonly violations: readonly Violation[];
}

/** What bad tenants send, in relation to the capacity. */
const OVERLOAD = 5;
const GOOD_TENANTS = 3;
const BAD_TENANTS = 4;
/** Good requests of one tenant at once. */
const LANES = 3;
/** Milliseconds between two requests of one lane, on average. */
const PAUSE = 350;
/** The share of the time before faults, in which the attacks are made at least once, and that of the faults. */
const UNDISTURBED = 0.5;
const FAULTY = 0.35;
/** Milliseconds for which faults are put off at the most, where a slow machine needs longer for the attacks. */
const FIRST_ROUND = 120_000;
/** Milliseconds in which memory and descriptors return once the load is over. */
const CALMING = 90_000;

/** Runs everything, and looks at what is left of it. */
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
  const scene: Scene = {
    url: daemon.url,
    callbacks: receiver.url,
    outages,
    violations,
    latencies,
    patience: bounds.patience,
  };
  const accounts = async (name: string, count: number, options: object) =>
    Promise.all(
      Array.from({ length: count }, (_, index) => daemon.account(`${name}-${index}`, options)),
    );
  const tenants = (await accounts('good', GOOD_TENANTS, {})).map((each) => new Tenant(each, scene));
  const bad = await accounts('bad', BAD_TENANTS, { rpm: 1_000_000, credits: '100000000' });
  const free = await daemon.account('free', { plan: 'free', rpm: 6000, credits: '1000' });

  progress('warm-up: every kind of request of good tenants, without load');
  for (const tenant of tenants) {
    const random = new Random(`${seed}:warm-up:${tenant.name}`);
    for (const work of GOOD_WORK) await work.run(tenant, random);
  }
  const idle = { descriptors: descriptors(daemon.pid), bytes: residentBytes(daemon.pid) };
  progress(`at rest: ${idle.descriptors} descriptors, ${megabytes(idle.bytes)} resident`);

  const arms: Arms = {
    url: daemon.url,
    keys: bad.map(({ key }) => key),
    freeKey: free.key,
    asset: await largeAsset(daemon.url, bad[0]!.key),
    sendTimeout: SEND_TIMEOUT,
    requestTimeout: REQUEST_TIMEOUT,
    patience: bounds.patience,
  };
  const attackers = await startAttackers(progress, closers);
  const seconds = Math.min(10, Math.max(3, minutes * 3));
  attackers.tell({ type: 'calibrate', arms, seed, seconds });
  const { capacity } = await attackers.hears('calibrated');
  progress(`capacity: ${capacity.toFixed(1)} mixed requests a second`);

  const watch = new Watch(() => daemon.pid);
  const delays = monitorEventLoopDelay({ resolution: 10 });
  delays.enable();
  const time = minutes * 60_000;
  let isOver = false;
  const { attacks: only } = settings;
  attackers.tell({ type: 'attack', rate: capacity * OVERLOAD, ...(only && { only }) });
  const watching = watchLife(daemon, outages, violations);
  const during = async (reach: Reach, work: () => Promise<void>) => {
    attackers.tell({ type: 'outage', reach, begins: true });
    try {
      await outages.during(reach, work);
    } finally {
      attackers.tell({ type: 'outage', reach, begins: false });
    }
  };
  const machine: Machine = {
    daemon,
    upstream,
    disk,
    violations,
    key: tenants[0]!.key,
    configuration: configure,
    during,
  };
  const lives = tenants.flatMap((tenant) =>
    Array.from({ length: LANES }, (_, lane) => {
      const random = new Random(`${seed}:${tenant.name}:${lane}`);
      return live(tenant, random, () => !isOver);
    }),
  );
  const firstRound = attackers.hears('first round');
  await Promise.all([
    sleep(time * UNDISTURBED),
    Promise.race([firstRound, sleep(FIRST_ROUND, undefined, { ref: false })]),
  ]);
  const faults = await injectFaults(machine, time * FAULTY, watching, progress);
  attackers.tell({ type: 'last rounds' });
  await sleep(time * (1 - UNDISTURBED - FAULTY));
  attackers.tell({ type: 'finish' });
  isOver = true;
  await Promise.all(lives);
  delays.disable();
  progress('the time is over; waiting for the attackers to finish');
  const ended = await attackers.hears('ended');
  attackers.tell({ type: 'end' });
  violations.merge(ended.violations);

  progress('comparing what was acknowledged with what is there');
  const kept = { tasks: 0, uploads: 0, callbacks: 0, spent: 0 };
  for (const tenant of tenants) {
    const one = await reconcile(tenant, receiver.received);
    for (const name of ['tasks', 'uploads', 'callbacks', 'spent'] as const) kept[name] += one[name];
  }
  progress('waiting for memory and descriptors to return');
  const restBytes = await calm(daemon, idle.descriptors, bounds, violations);
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
  if (code !== 0) violations.add('SIGTERM ends the daemon well', `it ended with ${code}`);
  progress('auditing the store');
  const store = await openStore({ directory: join(data, 'store') });
  for (const fault of await audit(store)) violations.add('every sum is right', fault);
  await store.close();
  const { lines, complaints } = await checkLog(
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
      violations.add('good tenants get their share', `${name}: ${served} served, not ${why}`);
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
    kept,
    peakBytes: watch.peakBytes,
    peakDescriptors: watch.peakDescriptors,
    restBytes,
    logLines: lines,
    complaints,
    violations: violations.all,
  };
}

function groupsOf(size: 'small' | 'small image'): string[] {
  return GOOD_WORK.filter((work) => work.size === size).map(({ group }) => group);
}

export function megabytes(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MB`;
}

/** A good tenant's day: one request after the other, with pauses. */
async function live(tenant: Tenant, random: Random, goesOn: () => boolean): Promise<void> {
  while (goesOn()) {
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
  tell(command: Command): void;
  hears<Type extends Message['type']>(type: Type): Promise<Extract<Message, { type: Type }>>;
}

async function startAttackers(
  progress: (line: string) => void,
  closers: (() => unknown)[],
): Promise<Attackers> {
  const child: ChildProcess = fork(fileURLToPath(new URL('./attack-process.js', import.meta.url)));
  closers.push(() => child.kill('SIGKILL'));
  const heard: Message[] = [];
  const waiting = new Set<() => void>();
  child.on('message', (message: Message) => {
    if (message.type === 'progress') progress(message.line);
    else heard.push(message);
    for (const look of waiting) look();
  });
  let isOver = false;
  child.once('exit', () => {
    isOver = true;
    for (const look of waiting) look();
  });
  const attackers: Attackers = {
    tell: (command) => {
      if (child.connected) child.send(command);
    },
    hears: (type) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = heard.find((message) => message.type === type);
          if (found === undefined && !isOver) return;
          waiting.delete(look);
          if (found === undefined) reject(new Error('the attackers ended early'));
          else resolve(found as never);
        };
        waiting.add(look);
        look();
      }),
  };
  await attackers.hears('ready');
  return attackers;
}

interface Watching {
  /** Whether the death of the daemon is a fault that was injected. */
  expectsDeath: boolean;
}

/** A daemon that dies by itself is a violation, and is started again so that the rest can be seen. */
function watchLife(daemon: Daemon, outages: Outages, violations: Violations): Watching {
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
  machine: Machine,
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

/** Waits until the daemon has let go of what the load took. @returns resident bytes then */
async function calm(
  daemon: Daemon,
  before: number,
  bounds: Bounds,
  violations: Violations,
): Promise<number> {
  const until = performance.now() + CALMING;
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
