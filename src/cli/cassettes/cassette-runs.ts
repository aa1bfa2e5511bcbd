import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../config/loading/load.ts';
import { secretsOf } from '../../config/providers/provider-kinds.ts';
import {
  describe,
  firstDifference,
  nearestTo,
  sketchOf,
} from '../../exchanges/cassettes/difference.ts';
import {
  BLOBS,
  type Cassette,
  folderFailure,
  readCassettes,
  reasonOf,
} from '../../exchanges/cassettes/folder.ts';
import { scanFolder } from '../../exchanges/cassettes/scan.ts';
import type { RecordedAnswer } from '../../exchanges/exchange.ts';
import { encodeExchange } from '../../exchanges/exchange-file.ts';
import { Failure } from '../../failure.ts';
import { printable } from '../../operations/batch/filename.ts';
import { tryParseJson } from '../../schema/json.ts';
import { counted } from '../../words.ts';
import { type CommandInput, readFlags } from '../command/command.ts';
import { type Columns, printTable } from '../terminal/table.ts';
import { humanBytes, print, printJson, printStderr } from '../terminal/terminal.ts';
import { listFlags, pruneFlags, scanFlags } from './cassette-flags.ts';
import '../../text/built-in-dialects.ts';

const COLUMNS: Columns<ReturnType<typeof factsOf>> = {
  FILE: [({ file }) => file, { minWidth: 16 }],
  PATH: [({ path }) => path, { minWidth: 12, dropOrder: 2 }],
  STATUS: [({ status }) => (status === 0 ? 'none' : String(status))],
  BYTES: [({ bytes }) => humanBytes(bytes)],
  STREAM: [({ streamed }) => (streamed ? 'yes' : 'no'), { dropOrder: 1 }],
  PROMPT: [({ prompt }) => prompt, { minWidth: 10 }],
};

/** Characters of a prompt that are listed. */
const MAX_PROMPT = 80;

/** Fields that hold what the user wrote, in all formats. */
const PROMPTS = ['prompt', 'input', 'messages', 'contents', 'content', 'parts', 'text', 'form'];

/** @returns the exit code: 1 where a file is no cassette */
export async function runList({ positionals: [folder], flags }: CommandInput): Promise<number> {
  const { json } = readFlags(listFlags, flags);
  const { cassettes, faults } = readAll(folder);
  const facts = cassettes.map(factsOf);
  if (json) await printJson({ cassettes: facts, faults });
  else await printTable(COLUMNS, facts);
  for (const fault of faults) printStderr(`oriel: ${fault}`);
  return faults.length > 0 ? 1 : 0;
}

/** All cassettes of a folder, and what is none. @throws Failure where the folder cannot be read */
function readAll(folder: unknown) {
  const faults: string[] = [];
  const cassettes = [...readCassettes(String(folder), (fault) => faults.push(fault))];
  return { cassettes, faults };
}

function factsOf({ file, exchange: { request, answer } }: Cassette) {
  const { status, chunks, headers, end } = answer;
  return {
    file,
    model: request.model,
    path: `${request.method} ${request.path}`,
    status,
    bytes: chunks.reduce((sum, { length }) => sum + length, 0),
    streamed: (headers['content-type'] ?? '').startsWith('text/event-stream'),
    end: typeof end === 'string' ? end : end.code,
    prompt: promptOf(request.body).replace(/\s+/g, ' ').slice(0, MAX_PROMPT),
  };
}

/** The last text that the user wrote. */
function promptOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return '';
  const parts = Array.isArray(value)
    ? value.toReversed()
    : PROMPTS.map((name) => (value as Readonly<Record<string, unknown>>)[name]);
  for (const part of parts) {
    const found = promptOf(part);
    if (found !== '') return found;
  }
  return '';
}

interface Change {
  readonly change: 'added' | 'removed' | 'changed';
  readonly file: string;
  /** File of the same request before it was changed. */
  readonly before?: string;
  readonly difference?: string;
}

/** @returns the exit code: 1 where the folders differ, or a file is no cassette */
export async function runDiff({ positionals, flags }: CommandInput): Promise<number> {
  const { json } = readFlags(listFlags, flags);
  const [before, after] = [readAll(positionals[0]), readAll(positionals[1])];
  const changes = changesBetween(before.cassettes, after.cassettes);
  const faults = [...before.faults, ...after.faults];
  if (json) await printJson({ changes, faults });
  else {
    const signs = { added: '+', removed: '-', changed: '~' };
    for (const { change, file, before: former, difference } of changes) {
      const name = former === undefined ? file : `${former} → ${file}`;
      const reason = difference === undefined ? '' : `\n    ${difference}`;
      await print(`${signs[change]} ${name}${reason}\n`);
    }
  }
  for (const fault of faults) printStderr(`oriel: ${fault}`);
  return changes.length + faults.length > 0 ? 1 : 0;
}

function changesBetween(before: readonly Cassette[], after: readonly Cassette[]): Change[] {
  const former = new Map(before.map(({ file, exchange }) => [file, exchange]));
  const changes: Change[] = [];
  const added: Cassette[] = [];
  for (const cassette of after) {
    const { file, exchange } = cassette;
    const same = former.get(file);
    former.delete(file);
    if (same === undefined) added.push(cassette);
    else {
      const difference = differenceOf(comparable(same.answer), comparable(exchange.answer));
      if (difference !== null) changes.push({ change: 'changed', file, difference });
    }
  }
  for (const { file, exchange } of added) {
    const { model, method, path } = exchange.request;
    const candidates = [...former].filter(
      ([, { request }]) =>
        request.model === model && request.method === method && request.path === path,
    );
    const sketches = candidates.map(([name, { request }]) => sketchOf(name, request));
    const nearest = nearestTo(exchange.request, sketches);
    const difference = nearest && differenceOf(former.get(nearest)!.request, exchange.request);
    if (!nearest || !difference) changes.push({ change: 'added', file });
    else {
      former.delete(nearest);
      changes.push({ change: 'changed', file, before: nearest, difference });
    }
  }
  for (const file of former.keys()) changes.push({ change: 'removed', file });
  return changes.sort((a, b) => (a.file < b.file ? -1 : 1));
}

function differenceOf(before: unknown, after: unknown): string | null {
  const found = firstDifference(before, after);
  return found && describe(found, ['before', 'after']);
}

/** What matters of an answer: chunks and times differ in each recording. */
function comparable({ status, headers, chunks, end }: RecordedAnswer): object {
  const text = Buffer.concat(chunks).toString();
  const json = tryParseJson(text);
  return { status, headers, end, body: json ?? text.split('\n') };
}

/**
 * Removes cassettes that no run used, and blobs of no cassette.
 *
 * @throws Failure where a file is no cassette: its blobs are not known
 */
export async function runPrune({ positionals: [dir], flags }: CommandInput): Promise<number> {
  const { used, json } = readFlags(pruneFlags, flags);
  const folder = String(dir);
  const { cassettes, faults } = readAll(folder);
  if (faults.length > 0) throw cannotPrune(faults.join('; '));
  const names = used === undefined ? null : new Set(readNames(used));
  const kept = cassettes.filter(({ file }) => names?.has(file) ?? true);
  if (names !== null && names.size > 0 && cassettes.length > 0 && kept.length === 0) {
    throw cannotPrune(`${used}: names no cassette of ${folder}`);
  }
  const blobsOf = ({ exchange }: Cassette) => [...encodeExchange(exchange).blobs.keys()];
  const needed = new Set(kept.flatMap((one) => [one.file, ...blobsOf(one).map(inBlobs)]));
  const blobs = existsSync(join(folder, BLOBS)) ? readdirSync(join(folder, BLOBS)) : [];
  const files = [...cassettes.map(({ file }) => file), ...blobs.map(inBlobs)];
  const removed = files.filter((file) => !needed.has(file));
  for (const file of removed) rmSync(join(folder, file), { force: true });
  if (json) await printJson({ removed, kept: kept.length });
  else {
    for (const file of removed) await print(`${file}\n`);
    await print(`${counted(removed.length, 'file')} removed, ${kept.length} kept\n`);
  }
  return 0;
}

const inBlobs = (name: string) => `${BLOBS}/${name}`;

function readNames(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n').filter(Boolean);
  } catch (cause) {
    throw cannotPrune(`${file}: cannot be read: ${reasonOf(cause)}`);
  }
}

function cannotPrune(reason: string): Failure {
  const code = 'cassette_folder';
  return new Failure('invalid_request', `nothing was removed: ${reason}`, { code });
}

const SECRET_NAME = /KEY|TOKEN|SECRET|PASSWORD/i;

/** Shorter values of variables may be words. */
const MIN_LENGTH = 12;

/** @returns the exit code: 1 where a secret may be in a file */
export async function runScan({ positionals: [folder], flags }: CommandInput): Promise<number> {
  const { config: file, json } = readFlags(scanFlags, flags);
  const env = process.env;
  const { config } = loadConfig({ file, env, cwd: process.cwd(), isReplay: true });
  const variables = Object.entries(env).flatMap(([name, value = '']) =>
    SECRET_NAME.test(name) && value.length >= MIN_LENGTH ? [value] : [],
  );
  const known = [...Object.values(config.providers).flatMap(secretsOf), ...variables];
  const findings = findingsIn(String(folder), known);
  if (json) await printJson({ findings });
  else {
    for (const { file, line, excerpt } of findings) {
      await print(`${printable(`${file}:${line}: ${excerpt}`)}\n`);
    }
    const count = findings.length === 0 ? 'no secret' : counted(findings.length, 'possible secret');
    await print(`${count} found\n`);
  }
  return findings.length > 0 ? 1 : 0;
}

function findingsIn(folder: string, known: readonly string[]) {
  try {
    return scanFolder(folder, known);
  } catch (cause) {
    throw folderFailure(folder, 'read', cause);
  }
}
