import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { launchNodes, NODES } from './nodes/launch-nodes.ts';
import {
  onProcessEnd,
  type Run,
  type Running,
  type RunOptions,
  start,
  temporaryFolder,
} from './oriel.ts';
import {
  cassettesIn,
  compareAgain,
  keepExchanges,
  RUNS_TWICE,
  withoutNetwork,
} from './second-run.ts';

/** API key of the owner, in tests that are not about the first key. */
export const OWNER_KEY = 'oriel_test_owner_key_000000000000';

/** `metrics.token`, unless a test sets another one. */
export const METRICS_TOKEN = 'oriel_test_metrics_token';

export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** A daemon process on a free port. */
export interface TestDaemon extends Running {
  readonly url: string;
  /** Its data directory. */
  readonly data: string;
  /** Log lines so far. */
  readonly log: readonly LogLine[];
  /** Resolves with the first line, past or future, with this message. @param from index of the first line that counts */
  logged(message: string, from?: number): Promise<LogLine>;
  /** Changes sections of `oriel.yaml`, and resolves once the daemon has read it again. */
  reload(changes: object): Promise<void>;
  /** A request with the owner's key. The path may be a whole URL. */
  request(path: string, init?: RequestInit): Promise<Response>;
  /** A POST of JSON, or without a body a GET. */
  send(path: string, body?: object, options?: SendOptions): Promise<Response>;
  /** The text of /metrics. */
  metrics(): Promise<string>;
  /** Sends a signal (SIGTERM), and waits for the exit. */
  stop(signal?: NodeJS.Signals): Promise<Run>;
}

export interface SendOptions {
  /** The owner's where not given. */
  readonly key?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** `send` of a daemon that has `request`. */
const sendBy =
  (request: TestDaemon['request']): TestDaemon['send'] =>
  (path, body, { key, headers, signal } = {}) =>
    request(path, {
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
      headers: {
        ...(body && { 'content-type': 'application/json' }),
        ...(key && { authorization: `Bearer ${key}` }),
        ...headers,
      },
      ...(signal && { signal }),
    });

export interface DaemonSettings extends Omit<RunOptions, 'input'> {
  /** Existing data directory; a new one where not given. */
  readonly data?: string;
  readonly args?: readonly string[];
  /** Content of `oriel.yaml`. */
  readonly config?: object;
}

/** Ends a daemon of an audit, which may be killed but must never have ended by itself. */
export async function endOfAudit(daemon: TestDaemon, signal: NodeJS.Signals): Promise<Run> {
  const run = await daemon.stop(signal);
  const fatal = daemon.log.filter(({ level }) => level === 'fatal');
  if (fatal.length > 0) throw new Error(`the daemon ended by itself: ${JSON.stringify(fatal)}`);
  return run;
}

/** Starts `oriel serve` and waits until it is ready; the running test's end stops it. */
export async function startDaemon(settings: DaemonSettings = {}): Promise<TestDaemon> {
  const launched = launch({ ...settings, data: settings.data ?? temporaryFolder() });
  onTestFinished(() => launched.end());
  return launched.ready;
}

/** One daemon for all tests of a describe block; `restart` kills it, and starts another in its place. */
export function sharedDaemon(settings: DaemonSettings = {}) {
  let daemon: TestDaemon | undefined;
  const data = mkdtempSync(join(tmpdir(), 'oriel-test-'));
  let end = async () => {};
  const begin = async () => {
    const launched = launch({ ...settings, data });
    end = launched.end;
    daemon = await launched.ready;
  };
  beforeAll(begin);
  afterAll(async () => {
    await end();
    rmSync(data, { recursive: true, force: true });
  });
  const restart = async () => {
    await end();
    await begin();
  };
  return Object.assign(() => daemon!, { restart });
}

/** One daemon for all test files that this process runs. */
export async function processDaemon(settings: DaemonSettings = {}): Promise<TestDaemon> {
  const data = mkdtempSync(join(tmpdir(), 'oriel-test-'));
  onProcessEnd(() => rmSync(data, { recursive: true, force: true, maxRetries: 3 }));
  return launch({ ...settings, data }).ready;
}

interface Launched {
  readonly ready: Promise<TestDaemon>;
  readonly end: () => Promise<void>;
}

/** Starts a daemon that records, and at its end one that answers the same requests from the recordings. */
function launchTwice(settings: DaemonSettings & { data: string }): Launched {
  const { data, args = [], config } = settings;
  const launchWith = (flag: string, used: object | undefined) =>
    launchDaemon({
      ...settings,
      ...(used && { config: used }),
      args: [...args, flag, cassettesIn(data)],
    });
  const first = launchWith('--record', config);
  const kept = first.ready.then(({ url }) => keepExchanges(url));
  kept.catch(() => {});
  return {
    ready: first.ready.then(async (daemon) => {
      const { url } = await kept;
      const request = (path: string, init: RequestInit = {}) =>
        daemon.request(new URL(path, url).href, init);
      return { ...daemon, url, request, send: sendBy(request) };
    }),
    async end() {
      const { exchanges, close } = await kept;
      close();
      await first.stop('SIGTERM');
      const second = launchWith('--replay', config && withoutNetwork(config));
      try {
        const { url } = await second.ready;
        const compared = await compareAgain(url, exchanges);
        const result = `${compared} of ${exchanges.length} answers were equal from cassettes`;
        // Answers that were cut off are not compared: most must be whole.
        if (compared * 2 < exchanges.length) throw new Error(result);
        process.stderr.write(`${result}\n`);
      } finally {
        await second.end();
      }
    },
  };
}

function launch(settings: DaemonSettings & { data: string }): Launched {
  if (RUNS_TWICE && settings.config) return launchTwice(settings);
  if (NODES === 1) return launchDaemon(settings);
  return launchNodes(settings.data, (data, config) =>
    launchDaemon({ ...settings, data, config: { ...config, ...settings.config } }),
  );
}

/** Starts `oriel serve`, whose test need not wait until it is ready. */
export function launchDaemon({
  data,
  args = [],
  env = {},
  config,
  ...options
}: DaemonSettings & { data: string }) {
  const file = join(data, 'oriel.yaml');
  if (config || (options.cwd === undefined && !existsSync(file))) {
    const { overload, metrics } = (config ?? {}) as Readonly<Record<string, object | undefined>>;
    const settings = {
      ...config,
      // Tests must not fail with 503 on a machine under load, unless they are about overload.
      overload: { eventLoopDelay: '1h', ...overload },
      metrics: { token: METRICS_TOKEN, ...metrics },
    };
    // Every JSON document is a YAML document.
    writeFileSync(file, JSON.stringify(settings));
  }
  const running = start(['serve', '--port', '0', '--data', data, '--log-format', 'json', ...args], {
    cwd: data,
    ...options,
    env: { ORIEL_BOOTSTRAP_KEY: OWNER_KEY, ...env },
  });
  const { child, ended } = running;
  const log: LogLine[] = [];
  const watchers = new Set<(line: LogLine) => void>();
  createInterface({ input: child.stdout! }).on('line', (text) => {
    const line = JSON.parse(text) as LogLine;
    log.push(line);
    for (const watch of watchers) watch(line);
  });
  const logged = async (message: string, from = 0): Promise<LogLine> => {
    const past = log.slice(from).find(({ msg }) => msg === message);
    if (past) return past;
    const future = new Promise<LogLine>((resolve) => {
      const watch = (line: LogLine) => {
        if (line.msg !== message) return;
        watchers.delete(watch);
        resolve(line);
      };
      watchers.add(watch);
    });
    const gone = ended.then(({ status, stderr }) => {
      throw new Error(`the daemon ended with ${status} before it logged "${message}": ${stderr}`);
    });
    return Promise.race([future, gone]);
  };
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal);
    return ended;
  };
  const ready = logged('ready').then((line): TestDaemon => {
    const url = String(line['url']);
    const request = (path: string, init: RequestInit = {}) => {
      const headers = new Headers(init.headers);
      if (!headers.has('authorization')) headers.set('authorization', `Bearer ${OWNER_KEY}`);
      return fetch(new URL(path, url), { ...init, headers });
    };
    return {
      ...running,
      url,
      data,
      log,
      logged,
      async reload(changes) {
        const from = log.length;
        const settings = JSON.parse(readFileSync(file, 'utf8')) as object;
        writeFileSync(file, JSON.stringify({ ...settings, ...changes }));
        child.kill('SIGHUP');
        await logged('the configuration was read again', from);
      },
      stop,
      request,
      send: sendBy(request),
      metrics: async () => {
        const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
        return (await fetch(`${url}/metrics`, { headers })).text();
      },
    };
  });
  // A test may expect that the daemon ends before it is ready.
  ready.catch(() => {});
  return {
    ready,
    logged,
    stop,
    end: async () => {
      await stop('SIGKILL');
    },
  };
}

/** Megabytes of memory that the daemon has. */
export function residentMegabytes({ child }: TestDaemon): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'latin1');
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)![1]) / 1024;
}
