import { type Cassette, readCassettes } from '../../exchanges/cassettes/folder.ts';
import { type CommandInput, readFlags } from '../command/command.ts';
import { printTable, type TitledColumn } from '../terminal/table.ts';
import { humanBytes, printJson, printStderr } from '../terminal/terminal.ts';
import { listFlags } from './cassette-flags.ts';

const COLUMNS: readonly TitledColumn[] = [
  { title: 'FILE', minWidth: 16 },
  { title: 'PATH', minWidth: 12, dropOrder: 2 },
  { title: 'STATUS' },
  { title: 'BYTES' },
  { title: 'STREAM', dropOrder: 1 },
  { title: 'PROMPT', minWidth: 10 },
];

/** Characters of a prompt that are listed. */
const MAX_PROMPT = 80;

/** @returns the exit code: 1 where a file is no cassette */
export async function runList({ positionals: [folder], flags }: CommandInput): Promise<number> {
  const { json } = readFlags(listFlags, flags);
  const { cassettes, faults } = readAll(String(folder));
  const rows = cassettes.map(rowOf);
  if (json) await printJson({ cassettes: rows, faults });
  else {
    const cells = rows.map(({ file, path, status, bytes, streamed, prompt }) => [
      ...[file, path, status === 0 ? 'none' : String(status), humanBytes(bytes)],
      ...[streamed ? 'yes' : 'no', prompt],
    ]);
    await printTable(COLUMNS, cells);
  }
  for (const fault of faults) printStderr(`oriel: ${fault}`);
  return faults.length > 0 ? 1 : 0;
}

/** All cassettes of a folder, and what is none. @throws Failure where the folder cannot be read */
export function readAll(folder: string) {
  const faults: string[] = [];
  const cassettes = [...readCassettes(folder, (fault) => faults.push(fault))];
  return { cassettes, faults };
}

function rowOf({ file, exchange: { request, answer } }: Cassette) {
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

/** Fields that hold what the user wrote, in all formats. */
const PROMPTS = ['prompt', 'input', 'messages', 'contents', 'content', 'parts', 'text', 'form'];

/** The last text that the user wrote. */
function promptOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) {
    for (const item of value.toReversed()) {
      const found = promptOf(item);
      if (found !== '') return found;
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const name of PROMPTS) {
      const found = promptOf((value as Readonly<Record<string, unknown>>)[name]);
      if (found !== '') return found;
    }
  }
  return '';
}
