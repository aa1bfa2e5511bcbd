import { type Daemon, startDaemon } from '../app.ts';
import { type Loaded, loadConfig, settingsForRestart } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { Failure } from '../failure.ts';
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
  const load = (): Loaded => {
    const loaded = loadConfig({
      ...(flags.config !== undefined && { file: flags.config }),
      env: process.env,
      cwd: process.cwd(),
    });
    return { ...loaded, config: withFlags(loaded.config, flags) };
  };
  const { config, file } = load();
  const bootstrapKey = process.env['ORIEL_BOOTSTRAP_KEY'];
  const daemon = await startDaemon(config, {
    version,
    ...(bootstrapKey !== undefined && { bootstrapKey }),
  });
  daemon.log.info({ url: daemon.url, config: file, dataDir: config.dataDir }, 'ready');
  if (daemon.firstKey !== undefined) welcome(daemon.url, daemon.firstKey);
  await ended(daemon, config, load);
  return 0;
}

function withFlags(config: Config, flags: Partial<Record<string, unknown>>): Config {
  const { host, port, data, logFormat } = flags as {
    host?: string;
    port?: number;
    data?: string;
    logFormat?: Config['log']['format'];
  };
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

/** Told on standard error, away from the log, which others may read later. */
function welcome(url: string, key: string): void {
  sayLines(`
This is the first start on this data directory. The account "owner" has been made, and its API key:

  ${key}

It is shown this once. Try it:

  curl -H 'Authorization: Bearer ${key}' ${url}/v1/account
  curl -H 'Authorization: Bearer ${key}' ${url}/v1/models
`);
}

/** Resolves when a signal has ended the daemon. A second one ends the process at once. */
async function ended(daemon: Daemon, initial: Config, load: () => Loaded): Promise<void> {
  let current = initial;
  const reload = () => {
    try {
      const { config, file } = load();
      for (const path of settingsForRestart(current, config)) {
        daemon.log.warn({ setting: path }, 'this setting changes at the next start only');
      }
      daemon.reconfigure(config);
      current = config;
      daemon.log.info({ config: file }, 'the configuration was read again');
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const faults = error.message.split('\n');
      daemon.log.error({ faults }, 'the configuration is at fault; the one before stays in force');
    }
  };
  process.on('SIGHUP', reload);
  const signal = await new Promise<NodeJS.Signals>((resolve) => {
    for (const one of END) process.once(one, resolve);
  });
  // Nobody listens to these any more: a second one ends the process in the system's own way.
  for (const one of END) process.removeAllListeners(one);
  daemon.log.info({ signal }, 'draining');
  await daemon.close();
  process.off('SIGHUP', reload);
  daemon.log.info('stopped');
}
