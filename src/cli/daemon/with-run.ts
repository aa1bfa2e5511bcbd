import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync, openSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { isatty } from 'node:tty';
import type * as v from 'valibot';
import { type Daemon, startDaemon } from '../../app/daemon.ts';
import { loadConfig } from '../../config/loading/load.ts';
import type { Config } from '../../config/settings/schema.ts';
import { Failure } from '../../failure.ts';
import type { Path } from '../../schema/walk.ts';
import { MAX_CREDITS } from '../../store/credits.ts';
import { newKey } from '../../store/key.ts';
import { makeTemporaryFolder } from '../../temporary.ts';
import { type CommandInput, readFlags, usageFailure } from '../command/command.ts';
import { noteNativeCode } from '../terminal/exit.ts';
import { jsonText, printStderr } from '../terminal/terminal.ts';
import { cassettesOf, isReplay, withFlags } from './daemon-flags.ts';
import { uncaughtException, warn } from './serve-run.ts';
import { markdownOf, reportOf, textOf, type WithReport } from './with-report.ts';

type WithFlags = v.InferOutput<typeof withFlags>;

/** Settings that the throw-away daemon does not take from a configuration. */
const REPLACED: readonly Path[] = [
  ...['dataDir', 'store', 'assets', 'owner', 'overload', 'log', 'metrics', 'telemetry'].map(
    (section) => [section],
  ),
  ...['host', 'port', 'publicUrl', 'trustProxy', 'operations'].map((name) => ['server', name]),
  ...['paid', 'shared', 'sharedPrefix'].map((name) => ['limits', name]),
];

/** Milliseconds in which requests that the command has left open may end. */
const GRACE_MS = 2000;

const STANDARD_ERROR = 2;

/**
 * Runs a command with a daemon of its own, and reports its requests.
 *
 * @returns the exit code: that of the command, or 1 for misses of cassettes
 */
export async function runWith(
  { positionals, flags: given }: CommandInput,
  version: string,
): Promise<number> {
  const flags = readFlags(withFlags, given);
  const [command = '', ...args] = positionals[0] as readonly string[];
  if (command === '') throw usageFailure('the command after -- is empty');
  const loaded = loadConfig({
    file: flags.config,
    env: process.env,
    cwd: process.cwd(),
    without: REPLACED,
    isReplay: isReplay(flags),
  });
  const { log } = flags;
  const logTo = log === undefined ? STANDARD_ERROR : writing(log, () => openSync(log, 'a'));
  const foreground = new Foreground();
  const folder = writing(tmpdir(), () => makeTemporaryFolder('with'));
  const key = newKey();
  let report: WithReport | undefined;
  const daemon = await startDaemon(throwAway(loaded.config, folder.path, flags), {
    ...{ version, loaded, bootstrapKey: key, logTo, stop: foreground.stop },
    deterministic: flags.deterministic,
    onEnd: async (store, cassettes) => {
      report = await reportOf(store, cassettes?.misses ?? []);
    },
  }).catch((error: unknown) => {
    if (foreground.status === null) throw error;
    return null;
  });
  // A signal has ended the start.
  if (daemon === null) return foreground.status!;
  warn(daemon.log, loaded);
  let isDefect = false;
  void uncaughtException(daemon).then(() => {
    isDefect = true;
    foreground.end();
  });
  const status = await foreground.run(command, args, environmentFor(daemon, key));
  await daemon.close();
  folder.remove();
  await publish(report!, status, flags);
  noteNativeCode();
  const { failures = [] } = daemon.cassetteReport ?? {};
  for (const failure of failures) printStderr(`oriel: ${failure}`);
  if (isDefect) return 1;
  return status === 0 && report!.misses + failures.length > 0 ? 1 : status;
}

function throwAway(config: Config, dataDir: string, flags: WithFlags): Config {
  const { server, limits, overload, owner, log } = config;
  return {
    ...config,
    cassettes: cassettesOf(config.cassettes, flags),
    dataDir,
    server: { ...server, port: 0, grace: GRACE_MS },
    // A test of the command must not fail by limits that have to do with other clients, or by a slow machine.
    owner: { ...owner, credits: MAX_CREDITS },
    limits: { ...limits, paid: { ...limits.paid, rpm: 1_000_000 } },
    overload: { ...overload, eventLoopDelay: 3_600_000 },
    log: { ...log, format: 'json', level: flags.log === undefined ? 'error' : 'info' },
  };
}

/** @throws Failure that names the file */
function writing<Result>(file: string, write: () => Result): Result {
  try {
    return write();
  } catch (error) {
    const { message } = error as Error;
    throw new Failure('service_error', `${file}: cannot be written: ${message}`, { cause: error });
  }
}

/** The variables by which clients find the daemon, in place of those that lead elsewhere. */
function environmentFor({ url }: Daemon, key: string): NodeJS.ProcessEnv {
  // Google's SDK prefers both to the key and the base URL of Gemini.
  const { GOOGLE_API_KEY: _, GOOGLE_GENAI_USE_VERTEXAI: __, ...inherited } = process.env;
  const direct = [inherited['no_proxy'] ?? inherited['NO_PROXY'], new URL(url).hostname];
  const noProxy = direct.filter(Boolean).join(',');
  const hasProxy = ['http_proxy', 'HTTP_PROXY', 'all_proxy', 'ALL_PROXY'].some((n) => inherited[n]);
  return {
    ...inherited,
    ...(hasProxy && { no_proxy: noProxy, NO_PROXY: noProxy }),
    OPENAI_BASE_URL: `${url}/v1`,
    OPENAI_API_KEY: key,
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: key,
    ANTHROPIC_AUTH_TOKEN: key,
    GOOGLE_GEMINI_BASE_URL: url,
    GEMINI_API_KEY: key,
    ORIEL_URL: url,
    ORIEL_API_KEY: key,
  };
}

/** Writes the report: standard output belongs to the command, and its exit code is not changed. */
async function publish(
  report: WithReport,
  status: number,
  { json, report: file }: WithFlags,
): Promise<void> {
  const text = json ? `${jsonText({ status, ...report })}\n` : await textOf(report);
  const { GITHUB_STEP_SUMMARY: summary } = process.env;
  const write = (path: string, how: () => void) => {
    try {
      writing(path, how);
    } catch (error) {
      printStderr(`oriel: ${(error as Failure).message}`);
    }
  };
  if (file === undefined) process.stderr.write(text);
  else write(file, () => writeFileSync(file, text));
  if (summary) write(summary, () => appendFileSync(summary, markdownOf(report)));
}

/** Signals that a terminal sends to this process and to the command alike. */
const FROM_TERMINAL: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT'];
const SIGNALS: readonly NodeJS.Signals[] = [...FROM_TERMINAL, 'SIGTERM', 'SIGHUP'];

/** Exit codes of shells for commands that cannot be run (POSIX, 2.8.2). */
const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such command',
  EACCES: 'it is not executable',
};

const statusOf = (signal: NodeJS.Signals) => 128 + constants.signals[signal];

/** Runs a command in the terminal of this process, which survives signals until the command has ended. */
export class Foreground {
  readonly #stop = new AbortController();
  /** Aborted by a signal that arrives before the command runs. */
  readonly stop: AbortSignal = this.#stop.signal;
  /** The exit code after such a signal. */
  status: number | null = null;
  #child: ChildProcess | null = null;

  constructor() {
    for (const signal of SIGNALS) process.on(signal, this.#receive);
  }

  /** Resolves with the exit code: that of the command, or 128 plus the number of the signal that ended it. */
  run(command: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
    return new Promise((resolve) => {
      if (this.status !== null) return resolve(this.status);
      const refuse = (error: NodeJS.ErrnoException) => {
        // A signal to a command of another user is an error, too.
        if (this.#child?.pid !== undefined) return;
        const { code = '', message } = error;
        printStderr(`oriel: cannot run ${JSON.stringify(command)}: ${REASONS[code] ?? message}`);
        resolve(code === 'ENOENT' ? NOT_FOUND : NOT_EXECUTABLE);
      };
      try {
        this.#child = spawn(command, args, { stdio: 'inherit', env });
      } catch (error) {
        return refuse(error as NodeJS.ErrnoException);
      }
      this.#child.once('error', refuse);
      this.#child.once('exit', (code, signal) => resolve(code ?? statusOf(signal!)));
    });
  }

  /** Asks the command to end. */
  end(): void {
    this.#child?.kill('SIGTERM');
  }

  readonly #receive = (signal: NodeJS.Signals): void => {
    if (this.#child === null) {
      this.status = statusOf(signal);
      this.#stop.abort();
    } else if (!FROM_TERMINAL.includes(signal) || ![0, 1, 2].some(isatty)) {
      this.#child.kill(signal);
    }
  };
}
