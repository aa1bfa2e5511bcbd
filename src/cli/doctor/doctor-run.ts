import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { AdminCommand } from '../../administration/admin-command.ts';
import { loadConfig } from '../../config/loading/load.ts';
import { isRemote, secretsOf } from '../../config/providers/provider-kinds.ts';
import type { Config } from '../../config/settings/schema.ts';
import { Failure, failureOf } from '../../failure.ts';
import { oneByOne } from '../../flow.ts';
import { withTimeout } from '../../http/transport/timeout.ts';
import { printable } from '../../operations/batch/filename.ts';
import { stepsFault } from '../../operations/recipe/url-steps.ts';
import { keysRedactor } from '../../routing/redaction.ts';
import type { ConfigEntry } from '../../store/config-entry.ts';
import { databaseState } from '../../store/drivers/open.ts';
import type { Store } from '../../store/store.ts';
import { UpstreamClient } from '../../upstream/client.ts';
import { counted } from '../../words.ts';
import { type Flags, readFlags, usageFailure } from '../command/command.ts';
import { readAdminInput } from '../daemon/admin-run.ts';
import { type AdminRequest, administer, runRemotely } from '../daemon/store-access.ts';
import { noteNativeCode } from '../terminal/exit.ts';
import { inert, print, printJson, printStderr } from '../terminal/terminal.ts';
import { wrapped } from '../terminal/text-width.ts';
import { type Examined, type Finding, failed, INVALID, type Status, skipped } from './check.ts';
import { CHECKS, type Check, doctorFlags } from './checks.ts';
import { foreign } from './folder.ts';
import { adminCommand, isFinding } from './store.ts';
import '../../text/built-in-dialects.ts';

interface Reported extends Finding {
  readonly check: string;
}

/**
 * Runs the checks and prints what they find.
 *
 * @returns the exit code: 1 if a check failed
 */
export async function runDoctor(flags: Flags, version: string): Promise<number> {
  const { only, json, config: file, data } = readFlags(doctorFlags, flags);
  const checks = chosen(only);
  const examined = await examine({ config: file, data }, version);
  const redact = redactorOf(examined.config);
  const findings = new Map<Check, readonly Reported[]>();
  const run = async (check: Check) =>
    void findings.set(check, await report(check, examined, redact));
  for (const check of checks.filter(({ isFirst }) => isFirst)) await run(check);
  await Promise.all(checks.filter(({ isFirst }) => !isFirst).map(run));
  const all = checks.flatMap((check) => findings.get(check)!);
  const count = (status: Status) => all.filter((one) => one.status === status).length;
  const status = count('failed') > 0 ? 'failed' : count('warning') > 0 ? 'warning' : 'ok';
  if (json) await printJson({ status, version, findings: all });
  else {
    for (const [index, one] of all.entries()) {
      await print(`${linesOf(one, all[index + 1]).join('\n')}\n`);
    }
    printStderr(`${count('failed')} failed, ${counted(count('warning'), 'warning')}`);
  }
  // A check that did not end in time, on a disk that hangs, must not keep the process.
  noteNativeCode();
  return status === 'failed' ? 1 : 0;
}

/** @throws Failure with code `usage` for an unknown name */
function chosen(only: string | undefined): readonly Check[] {
  if (only === undefined) return CHECKS;
  const names = only.split(',').map((name) => name.trim());
  const known = CHECKS.map(({ name }) => name);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return CHECKS.filter(({ name }) => names.includes(name));
  const expected = `expected names out of ${known.join(', ')}`;
  throw usageFailure(`--only: ${expected}, received ${JSON.stringify(unknown)}`);
}

async function examine(given: Flags, version: string): Promise<Examined> {
  const source = {
    ...{ file: given['config'] as string, env: process.env, cwd: process.cwd() },
    stepsFault,
  };
  const loaded = orFailure(() => loadConfig(source));
  const without = [['providers'], ['models']];
  // Keys are often in the environment of the daemon alone.
  const usable = 'config' in loaded ? loaded : orFailure(() => loadConfig({ ...source, without }));
  const config = 'config' in usable ? usable.config : null;
  const inputOf = (command: AdminCommand, input: object = {}) =>
    readAdminInput(command, { ...input }, { ...given });
  const nodes = adminCommand('nodes', 'list');
  const first = await inputOf(nodes).catch(failureOf);
  // Without settings the data folder is not known: the checks of the configuration say why.
  const request = first instanceof Failure ? null : first.request;
  const dataDir = request?.dataDir ?? String(given['data'] ?? 'data');
  const answer = request && (await runRemotely(nodes, request).catch(() => undefined));
  const { nodes: alive = [] } = (answer?.result ?? {}) as { nodes?: { version: string }[] };
  const other = alive.find((node) => node.version !== version)?.version;
  const daemon = answer ? { pid: answer.pid, version: other ?? version } : null;

  // The store has one lock.
  const inTurn = oneByOne();
  const run = async (command: AdminCommand, input?: object): Promise<Finding | object> => {
    if (first instanceof Failure) return INVALID;
    const { request: own } = await inputOf(command, input);
    if (daemon !== null) {
      const remote = await runRemotely(command, own);
      return remote?.result ?? failed('the daemon has ended meanwhile', 'Run oriel doctor again.');
    }
    const refusal = await refusalOf(own);
    return refusal ?? (await inTurn(() => administer(command, own))).result;
  };
  let entries: Promise<readonly ConfigEntry[]> | undefined;
  return {
    ...{ version, loaded, config, dataDir, daemon, network: new UpstreamClient() },
    inStore: run,
    inCatalog: async (command, input) => {
      if (first instanceof Failure) return INVALID;
      if (daemon !== null) return run(command, input);
      const listing = {
        ...nodes,
        run: async (store: Store) => ({ entries: await store.listConfigEntries() }),
      };
      entries ??= run(listing).then(
        (found) => (isFinding(found) ? [] : (found as { entries: ConfigEntry[] }).entries),
        () => [],
      );
      const found = await entries;
      const { options, request: own } = await inputOf(command, input);
      return command.run(
        { listConfigEntries: async () => found } as unknown as Store,
        options,
        own.catalog,
      );
    },
  };
}

/** Why this process must not open the store; null where it may. */
async function refusalOf({ dataDir, store }: AdminRequest): Promise<Finding | null> {
  if (store?.driver === 'postgres') {
    const { schema, known } = await databaseState(store);
    return schema === known ? null : skipped('the next start has to migrate the database first');
  }
  // Files that it would make belong to this user, and the daemon could not open them.
  const other = await foreign({ dataDir });
  if (other !== null) return skipped(other);
  const folder = join(dataDir, 'store');
  const found = await stat(folder).catch(({ code }: NodeJS.ErrnoException) => String(code));
  if (found === 'ENOENT') return skipped('there is no store yet; the first start makes it');
  return typeof found === 'string' ? skipped(`${folder} cannot be read: ${found}`) : null;
}

function orFailure<Result>(work: () => Result): Result | Failure {
  try {
    return work();
  } catch (error) {
    return failureOf(error);
  }
}

/** Seconds for a check. */
const SECONDS = 30;

/** Characters of a text: it may quote a provider. */
const MAX_TEXT = 500;

async function report(
  { name, seconds = SECONDS, run }: Check,
  examined: Examined,
  redact: (text: string) => string,
): Promise<readonly Reported[]> {
  const late = failed(`no answer within ${seconds} s`, LATE);
  const found = await withTimeout(run(examined), seconds * 1000, late).catch(
    (error: NodeJS.ErrnoException) =>
      failed(
        error.message,
        error instanceof Failure || error.code === 'ENOSPC' ? UNUSABLE : DEFECT,
      ),
  );
  return [found].flat().map(({ text, ...finding }) => {
    return { check: name, ...finding, text: redact(text).slice(0, MAX_TEXT) };
  });
}

const LATE =
  'Find out what hangs: the disk, the network or the machine; then run this check alone with --only.';
const UNUSABLE = 'Correct what the message names, and run oriel doctor again.';
const DEFECT = 'Make it accessible to this user, or report a defect of Oriel.';

/** Removes all secrets of the configuration, of which messages of libraries and servers might quote one. */
function redactorOf(config: Config | null): (text: string) => string {
  if (config === null) return (text) => text;
  const { providers, assets, store, limits, metrics, alerts } = config;
  const urls = [store.url, store.listenUrl, limits.shared].filter((url) => url !== undefined);
  const passwords = urls.flatMap((url) => {
    const { password } = new URL(url);
    return [password, decodeURIComponent(password)];
  });
  const others = [assets.secretAccessKey, assets.sessionToken, metrics.token];
  const keys = Object.values(providers).filter(isRemote).flatMap(secretsOf);
  const all = [...keys, ...passwords, ...others, ...alerts.webhooks.map(({ secret }) => secret)];
  return keysRedactor(all.filter((secret): secret is string => Boolean(secret)));
}

const NAME_WIDTH = 13;
const LINE_WIDTH = 80;

/** A finding as lines of 80 columns, with the remedy below the last one that has it. */
function linesOf({ check, status, text, remedy }: Reported, next: Reported | undefined): string[] {
  const isRepeated = next?.check === check && next.remedy === remedy;
  const start = `${(status === 'skipped' ? '-' : status).padEnd(7)}  ${check.padEnd(NAME_WIDTH)}  `;
  const width = LINE_WIDTH - start.length;
  const texts = [
    ...wrapped(printable(text), width),
    ...(remedy && !isRepeated ? wrapped(`> ${remedy}`, width) : []),
  ];
  return texts.map((line, index) =>
    inert(index === 0 ? start + line : ' '.repeat(start.length) + line),
  );
}
