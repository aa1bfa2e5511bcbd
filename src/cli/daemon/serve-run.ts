import type * as v from 'valibot';
import { type FirstKey, removeFirstKey } from '../../administration/first-key.ts';
import { type Daemon, startDaemon } from '../../app/daemon.ts';
import { Peers } from '../../app/processes/peers.ts';
import { configOfProcess, processesOf } from '../../app/processes/share.ts';
import { type LoadedConfig, type LoadOptions, loadConfig } from '../../config/loading/load.ts';
import { changedSettings, reloadConfig } from '../../config/loading/reload.ts';
import type { Config } from '../../config/settings/schema.ts';
import { INVALID_CONFIG } from '../../config/yaml/invalid.ts';
import { Failure } from '../../failure.ts';
import { oneByOne } from '../../flow.ts';
import { reopenLog } from '../../http/observability/log.ts';
import { stepsFault } from '../../operations/recipe/url-steps.ts';
import type { Actor } from '../../store/audit/entry.ts';
import { hintOf } from '../../store/key.ts';
import { readFlags } from '../command/command.ts';
import { noteNativeCode } from '../terminal/exit.ts';
import { printStderrLines, shellWord } from '../terminal/terminal.ts';
import { cassettesOf, isReplay, serveFlags } from './daemon-flags.ts';

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/**
 * Runs the daemon until a signal or an uncaught exception ends it.
 *
 * @returns the exit code
 */
export async function runServe(
  values: Readonly<Record<string, unknown>>,
  version: string,
): Promise<number> {
  const flags = readFlags(serveFlags, values);
  const source = {
    ...{ file: flags.config, env: process.env, cwd: process.cwd(), stepsFault },
    isReplay: isReplay(flags),
  };
  const loaded = loadConfig(source);
  const whole = withFlags(loaded.config, flags);
  const peers = Peers.join();
  const count = peers?.place.count ?? processesOf(whole);
  if (peers === undefined && count > 1) {
    const { runSupervisor } = await import('./supervisor-run.ts');
    return runSupervisor(whole, { count, file: loaded.file, stopSignal: nextStopSignal() });
  }
  if (peers) peers.dataDir = whole.dataDir;
  const ofProcess = (all: Config) => (peers ? configOfProcess(all, peers.place) : all);
  const config = ofProcess(whole);
  // The start reads the configuration in any case; a SIGHUP meanwhile must not end the process.
  const ignore = () => {};
  process.on('SIGHUP', ignore);
  const bootstrapKey = process.env['ORIEL_BOOTSTRAP_KEY'] || undefined;
  // Before the first request can be answered: a signal during the start drains the daemon, too.
  const stopSignal = nextStopSignal(peers);
  const stop = new AbortController();
  void stopSignal.then(() => stop.abort());
  const daemon = await startDaemon(config, {
    version,
    loaded,
    acceptClock: flags.acceptClock,
    newStore: flags.newStore,
    dev: flags.dev,
    deterministic: flags.deterministic,
    stop: stop.signal,
    peers,
    ...(bootstrapKey !== undefined && { bootstrapKey }),
  }).catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
    return null;
  });
  // Stopped while it waited for the database.
  if (daemon === null) {
    peers?.disconnect();
    return 0;
  }
  const { log, url, operationsUrl, firstKey } = daemon;
  warn(log, loaded);
  const stopReloading = reloadOnHangup({
    daemon,
    initial: loaded,
    source,
    peers,
    adjust: (next) => ofProcess(withFlags(next, flags)),
  });
  process.off('SIGHUP', ignore);
  const exception = uncaughtException(daemon).then(() => null);
  const place = { url, operationsUrl, config: loaded.file, dataDir: config.dataDir };
  // The supervisor logs that the server is ready, once all processes are.
  log.info(place, peers ? 'process ready' : 'ready');
  peers?.ready(url, operationsUrl);
  if (firstKey !== undefined) await printFirstKey(daemon, firstKey);
  const signal = await Promise.race([stopSignal, exception]);
  log.info({ signal }, 'draining');
  await daemon.close(signal === 'replaced');
  stopReloading();
  log.info('stopped');
  peers?.disconnect();
  noteNativeCode();
  const isGood = reportCassettes(daemon);
  return signal === null || !isGood ? 1 : 0;
}

/** Prints what a run with cassettes could not do. @returns whether that is nothing */
function reportCassettes({ cassetteReport }: Daemon): boolean {
  const { misses = [], failures = [] } = cassetteReport ?? {};
  const times = new Map<string, number>();
  for (const { message } of misses) times.set(message, (times.get(message) ?? 0) + 1);
  for (const [message, count] of times) {
    printStderrLines(`oriel: cassette miss: ${message}${count > 1 ? ` (${count} times)` : ''}`);
  }
  for (const failure of failures) printStderrLines(`oriel: ${failure}`);
  return misses.length + failures.length === 0;
}

export function warn(log: Daemon['log'], { warnings }: LoadedConfig): void {
  for (const warning of warnings)
    log.warn({ setting: warning }, 'probable mistake in the configuration');
}

function withFlags(config: Config, flags: v.InferOutput<typeof serveFlags>): Config {
  const { host, port, processes, data, logFormat } = flags;
  return {
    ...config,
    ...(data !== undefined && { dataDir: data }),
    server: {
      ...config.server,
      ...(host !== undefined && { host }),
      ...(port !== undefined && { port }),
      ...(processes !== undefined && { processes }),
    },
    cassettes: cassettesOf(config.cassettes, flags),
    log: { ...config.log, ...(logFormat !== undefined && { format: logFormat }) },
  };
}

/**
 * Prints the owner's first key to a terminal and removes its file. Where standard error is no terminal
 * others may read it, so that it and the log get the file's path and the key's hint.
 */
async function printFirstKey({ log, url }: Daemon, first: FirstKey) {
  const { key, file } = first;
  const inTerminal = process.stderr.isTTY;
  if (!inTerminal) {
    const hint = hintOf(key);
    log.warn(
      { file, hint },
      "the owner's first API key is in a file; store it safely, then delete it",
    );
  }
  const secret = inTerminal ? key : `$(cat ${shellWord(file)})`;
  const title = inTerminal ? 'API key, shown this once' : 'API key, in a file';
  printStderrLines(`
Address: ${url}
${title}: ${inTerminal ? key : file}
Try it: curl -H "Authorization: Bearer ${secret}" ${url}/v1/models
`);
  if (inTerminal) await removeFirstKey(first);
}

interface ReloadOptions {
  readonly daemon: Daemon;
  /** The configuration of the start, for settings that need a restart. */
  readonly initial: LoadedConfig;
  readonly source: LoadOptions;
  readonly peers: Peers | undefined;
  readonly adjust: (config: Config) => Config;
}

/**
 * Reloads the configuration at SIGHUP and when the owner asks for it; an invalid one changes nothing.
 *
 * @returns removes the handler
 */
function reloadOnHangup({ daemon, initial, source, peers, adjust }: ReloadOptions): () => void {
  const { log } = daemon;
  let current = initial;
  const inTurn = oneByOne();
  const reload = async (who?: Actor): Promise<readonly string[]> => {
    try {
      const loaded = reloadConfig({ started: initial, current }, source);
      for (const setting of loaded.restart) {
        log.warn({ setting }, 'this setting changes at the next start only');
      }
      warn(log, loaded);
      const changed = changedSettings(current.config, loaded.config);
      const details = { changed, atRestart: loaded.restart };
      await daemon.reconfigure(adjust(loaded.config), loaded, details, who);
      current = loaded;
      const { removedModels } = loaded;
      if (removedModels.length > 0) {
        log.warn({ models: removedModels }, 'these models are no longer in the configuration');
      }
      log.info({ config: loaded.file }, 'the configuration was read again');
      return [];
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== INVALID_CONFIG) {
        // A file that cannot be read now, for example without a free descriptor, must not end the process.
        log.error({ err: error }, 'the configuration was not changed');
        return [error instanceof Error ? error.message : String(error)];
      }
      const faults = error.message.split('\n');
      log.error({ faults }, 'the configuration is at fault; the one before stays in force');
      await daemon
        .refuseConfiguration(faults, who)
        .catch((fault: unknown) => log.error({ err: fault }, 'the audit log cannot be written'));
      return faults;
    }
  };

  const onHangup = () => {
    reopenLog(log);
    void inTurn(reload);
  };
  daemon.offerReload((who) => {
    peers?.reload();
    return inTurn(() => reload(who));
  });
  process.on('SIGHUP', onHangup);
  return () => process.off('SIGHUP', onHangup);
}

/**
 * Resolves with the first signal to stop. A second one ends the process, unless it has a supervisor: a terminal and
 * systemd send the signal to every process, and the supervisor passes it on.
 */
async function nextStopSignal(
  peers?: Peers,
): Promise<NodeJS.Signals | 'replaced' | 'stopped' | 'orphaned'> {
  if (peers) {
    process.on('SIGINT', () => {});
    return Promise.race([
      peers.end,
      new Promise<'SIGTERM'>((resolve) => process.on('SIGTERM', resolve)),
    ]);
  }
  const signal = await new Promise<NodeJS.Signals>((resolve) => {
    for (const one of STOP_SIGNALS) process.once(one, resolve);
  });
  for (const one of STOP_SIGNALS) process.removeAllListeners(one);
  return signal;
}

/** System errors after which the state of the process is known. */
const RESOURCE_ERRORS = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EAGAIN']);

/**
 * Handles uncaught errors, at which Node would end the process with all requests in progress.
 * Unhandled rejections and shortages of descriptors or memory are logged. After any other exception
 * the state of the process is unknown.
 *
 * @returns resolves after such an exception, after which the daemon drains and ends. A further
 *   exception ends the process at once.
 */
export function uncaughtException({ log }: Pick<Daemon, 'log'>): Promise<void> {
  process.on('unhandledRejection', (err) => {
    log.error({ err }, 'a defect, please report it: a promise was rejected that nothing waits for');
  });
  return new Promise((resolve) => {
    let ending = false;
    process.on('uncaughtException', (err: NodeJS.ErrnoException) => {
      if (RESOURCE_ERRORS.has(err.code ?? '')) {
        log.error({ err }, 'the system is short of descriptors or memory');
        return;
      }
      log.fatal({ err }, 'a defect, please report it: the daemon ends');
      if (ending) process.exit(1);
      ending = true;
      resolve();
    });
  });
}
