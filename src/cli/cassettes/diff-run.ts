import {
  describe,
  firstDifference,
  nearestTo,
  sketchOf,
} from '../../exchanges/cassettes/difference.ts';
import type { Cassette } from '../../exchanges/cassettes/folder.ts';
import type { RecordedAnswer } from '../../exchanges/exchange.ts';
import { tryParseJson } from '../../schema/json.ts';
import { type CommandInput, readFlags } from '../command/command.ts';
import { print, printJson, printStderr } from '../terminal/terminal.ts';
import { listFlags } from './cassette-flags.ts';
import { readAll } from './list-run.ts';

interface Change {
  readonly change: 'added' | 'removed' | 'changed';
  readonly file: string;
  /** File of the same request before it was changed. */
  readonly before?: string;
  readonly difference?: string;
}

const SIGNS = { added: '+', removed: '-', changed: '~' } as const;

/** @returns the exit code: 1 where the folders differ, or a file is no cassette */
export async function runDiff({ positionals, flags }: CommandInput): Promise<number> {
  const { json } = readFlags(listFlags, flags);
  const [before, after] = positionals.map((folder) => readAll(String(folder)));
  const changes = changesBetween(before!.cassettes, after!.cassettes);
  const faults = [...before!.faults, ...after!.faults];
  if (json) await printJson({ changes, faults });
  else {
    for (const { change, file, before: former, difference } of changes) {
      const name = former === undefined ? file : `${former} → ${file}`;
      await print(
        `${SIGNS[change]} ${name}${difference === undefined ? '' : `\n    ${difference}`}\n`,
      );
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
