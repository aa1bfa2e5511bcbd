import type * as v from 'valibot';
import { type Daemon, startDaemon } from '../app.ts';
import { type ConfigOptions, type LoadedConfig, loadConfig, reloadConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { Failure } from '../failure.ts';
import { noteNativeCode } from './exit.ts';
import { readFlags } from './flags.ts';
import { serveFlags } from './serve-flags.ts';
import { sayLines } from './terminal.ts';

const END = ['SIGTERM', 'SIGINT'] as const;

/** Runs the daemon until a signal ends it. Resolves with the exit code. */
export async function runServe(
  values: Readonly<Record<string, unknown>>,
  version: string,
): Promise<number> {
  const flags = readFlags(serveFlags, values);
  const source = { file: flags.config, env: process.env, cwd: process.cwd() };
  const loaded = loadConfig(source);
  const config = withFlags(loaded.config, flags);
  // One that comes too early asks for what is being done anyway, and shall not end the process.
  const early = () => {};
  process.on('SIGHUP', early);
  const bootstrapKey = process.env['ORIEL_BOOTSTRAP_KEY'] || undefined;
  const daemon = await startDaemon(config, {
    version,
    ...(bootstrapKey !== undefined && { bootstrapKey }),
  });
  const { log, url, firstKey } = daemon;
  for (const warning of loaded.warnings) log.warn({ setting: warning }, 'hardly meant');
  const stopReloading = reloadOnHangup(daemon, loaded, source, (next) => withFlags(next, flags));
  process.off('SIGHUP', early);
  const signalled = ended();
  log.info({ url, config: loaded.file, dataDir: config.dataDir }, 'ready');
  if (firstKey !== undefined) welcome(url, firstKey, config.models);
  const signal = await signalled;
  log.info({ signal }, 'draining');
  await daemon.close();
  stopReloading();
  log.info('stopped');
  noteNativeCode();
  return 0;
}

function withFlags(config: Config, flags: v.InferOutput<typeof serveFlags>): Config {
  const { host, port, data, logFormat } = flags;
  return {
    ...config,
    ...(data !== undefined && { dataDir: data }),
    server: {
      ...config.server,
      ...(host !== undefined && { host }),
      ...(port !== undefined && { port }),
    },
    log: { ...config.log, ...(logFormat !== undefined && { format: logFormat }) },
  };
}

/** The model of the sandbox that draws. */
const DRAWING = 'sandbox-image';

/** Told on standard error, away from the log, which others may read later. */
function welcome(url: string, key: string, models: Config['models']): void {
  const bearer = `curl -H 'Authorization: Bearer ${key}'`;
  const body = `{"model": "${DRAWING}", "prompt": "a lighthouse at dusk"}`;
  // Only what costs nobody anything is put before people to try.
  const drawing = Object.hasOwn(models, DRAWING)
    ? `\n  ${bearer} -H 'Content-Type: application/json' ${url}/v1/images/generations/sync -d '${body}'`
    : '';
  sayLines(`
This is the first start on this data directory. The account "owner" has been made, and its API key:

  ${key}

It is shown this once. Try it:

  ${bearer} ${url}/v1/account
  ${bearer} ${url}/v1/models${drawing}

All endpoints, to read and to try out: ${url}/docs
`);
}

/**
 * Reads the configuration again at SIGHUP; one that is at fault changes nothing.
 *
 * @param initial what the settings that are read once were read from
 */
function reloadOnHangup(
  daemon: Daemon,
  initial: LoadedConfig,
  source: ConfigOptions,
  adjust: (config: Config) => Config,
): () => void {
  const { log } = daemon;
  const reload = () => {
    try {
      const loaded = reloadConfig(initial, source);
      for (const setting of loaded.restart) {
        log.warn({ setting }, 'this setting changes at the next start only');
      }
      daemon.reconfigure(adjust(loaded.config));
      log.info({ config: loaded.file }, 'the configuration was read again');
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const faults = error.message.split('\n');
      log.error({ faults }, 'the configuration is at fault; the one before stays in force');
    }
  };
  process.on('SIGHUP', reload);
  return () => process.off('SIGHUP', reload);
}

/** Resolves with the signal that asks for the end. A second one has the system's own meaning. */
async function ended(): Promise<NodeJS.Signals> {
  const signal = await new Promise<NodeJS.Signals>((resolve) => {
    for (const one of END) process.once(one, resolve);
  });
  for (const one of END) process.removeAllListeners(one);
  return signal;
}
