import { WriteStream } from 'node:tty';
import { printable, printableJson } from '../../operations/batch/filename.ts';
import { counted } from '../../words.ts';

let clearLine: (() => void) | undefined;

/** Sets what removes a progress bar before lines are printed to the same terminal. */
export function beforeLines(clear: (() => void) | undefined): void {
  clearLine = clear;
}

/**
 * Writes to standard output; resolves when the system has taken the bytes.
 *
 * @throws the system's error, EPIPE where the reader has closed the pipe (`| head`)
 */
export async function print(text: string | Uint8Array): Promise<void> {
  if (process.stdout.isTTY) clearLine?.();
  await new Promise<void>((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

/**
 * Reads standard input as a stream: reading the descriptor of a non-blocking pipe would fail with
 * EAGAIN while the program before it is still running.
 *
 * @param limit bytes after which reading stops
 */
export async function readStandardInput(limit = Number.POSITIVE_INFINITY): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > limit) break;
  }
  return Buffer.concat(chunks);
}

/** Whether an error is that of a write to a pipe whose reader has closed it. */
export function isClosedPipe(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | null)?.code === 'EPIPE';
}

/**
 * Prints a line for people to standard error; standard output is for data. Control characters in it
 * are shown as escapes, because it may contain names and arguments from anywhere.
 *
 * @param isCommand prints a workflow command of GitHub Actions, which any other line must not be
 */
export function printStderr(line: string, { isCommand = false } = {}): void {
  clearLine?.();
  process.stderr.write(`${isCommand ? printable(line) : inert(printable(line))}\n`);
}

/**
 * A line that the runner of GitHub Actions does not read as a workflow command: it looks for `::` at the start of
 * lines, and for `##[` anywhere (actions/runner, src/Runner.Common/ActionCommand.cs).
 */
export function inert(line: string): string {
  return line.replace(/^(\s*):(?=:)/, '$1\\x3a').replaceAll('##[', '#\\x23[');
}

/** Prints a text of several lines to standard error. */
export function printStderrLines(text: string): void {
  for (const line of text.split('\n')) printStderr(line);
}

/**
 * Bits of colour of standard output: 1 for none, 8 for 256 colours, 24 for all. NO_COLOR and
 * FORCE_COLOR count as they do in Node itself.
 */
export function colourDepth(): number {
  if (!process.stdout.isTTY && process.env['FORCE_COLOR'] === undefined) return 1;
  return WriteStream.prototype.getColorDepth.call(process.stdout, process.env);
}

/** The nearest entry of the 6x6x6 cube of 256-colour terminals. */
function cubeIndex([red, green, blue]: readonly [number, number, number]): number {
  const level = (channel: number) => Math.round((channel / 255) * 5);
  return 16 + 36 * level(red) + 6 * level(green) + level(blue);
}

/** Two cells in a colour; empty where the terminal has too few colours. */
export function swatch(hex: string, depth: number): string {
  const channel = (index: number) => Number.parseInt(hex.slice(index, index + 2), 16);
  const rgb = [channel(1), channel(3), channel(5)] as const;
  if (depth >= 24) return `\u001b[48;2;${rgb.join(';')}m  \u001b[0m `;
  if (depth >= 8) return `\u001b[48;5;${cubeIndex(rgb)}m  \u001b[0m `;
  return '';
}

/**
 * A word of a shell's command line. Bash, zsh and ksh read `$'…'`, which control characters need. No word has `##[`,
 * which the runner of GitHub Actions reads as a command.
 */
export function shellWord(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  const escaped = printable(word.replaceAll('\\', '\\\\')).replaceAll("'", "\\'");
  return printable(word) === word
    ? `'${word.replaceAll("'", "'\\''").replaceAll('##[', "#''#[")}'`
    : `$'${escaped.replaceAll('##[', '#\\x23[')}'`;
}

/** The records of a store: `1 account, 2 keys and 0 tasks`. */
export function countedRecords(count: Readonly<Record<'accounts' | 'keys' | 'tasks', number>>) {
  const { accounts, keys, tasks } = count;
  return `${counted(accounts, 'account')}, ${counted(keys, 'key')} and ${counted(tasks, 'task')}`;
}

/** Bytes as text: `812 KB`, `1.9 MB`. A kilobyte has 1000 bytes. */
export function humanBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const units = ['KB', 'MB', 'GB', 'TB'];
  let value = bytes / 1000;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value >= 100 ? value.toFixed(0) : value.toPrecision(3)} ${units[unit]}`;
}

/** Change of a size as text: `-58 %`, `+3 %`. */
export function humanChange(before: number, after: number): string {
  if (before === 0) return '';
  const exact = (after / before - 1) * 100;
  // Only an empty file would be 100 % smaller.
  const percent = after > 0 && exact < -99 ? Math.ceil(exact * 10) / 10 : Math.round(exact);
  return `${percent > 0 ? '+' : ''}${percent} %`;
}

/** JSON on one line, without characters that control a terminal or the runner of GitHub Actions. */
export function jsonText(value: object): string {
  return printableJson(JSON.stringify(value)).replaceAll('##[', '#\\u0023[');
}

/** Prints JSON on one line of standard output. */
export async function printJson(value: object): Promise<void> {
  await print(`${jsonText(value)}\n`);
}
