import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { INVALID_CONFIG } from '../config/invalid.ts';
import { Failure } from '../failure.ts';
import { findOperation, OPERATIONS } from '../operations/registry.ts';
import { completionCommand } from './completion-command.ts';
import { endWith } from './exit.ts';
import { imageCommand } from './image-command.ts';
import { isReaderGone, say, sayLines } from './terminal.ts';
import { isUsageFailure } from './usage.ts';

/** Exit codes: the work was done, something in it failed, the command line made no sense, ^C. */
const EXIT = { done: 0, failed: 1, usage: 2 } as const;

function version(): string {
  const file = new URL('../../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

/**
 * The command line as a tree of commands.
 *
 * @param named the command that is called for, if it is one: an image tool is made alone, since
 *   making all the others takes as long as some of its work
 */
async function buildProgram(
  named: string | undefined,
  finish: (exitCode: number) => void,
): Promise<Command> {
  const program = new Command('oriel')
    .description('Batch image work on every core, and a self-hosted gateway to models.')
    .version(version(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print help for a command')
    .showHelpAfterError('(--help tells more)')
    .configureOutput({
      writeErr: (text) => sayLines(text.trimEnd()),
      outputError: (text, write) => write(text.replace(/^error: /, 'oriel: ')),
    })
    .exitOverride()
    .enablePositionalOptions();
  const called = findOperation(named ?? '');
  for (const operation of called ? [called] : OPERATIONS) {
    program.addCommand(imageCommand(operation, finish).copyInheritedSettings(program));
  }
  if (called) return program;
  const { addDaemonCommands } = await import('./daemon-commands.ts');
  addDaemonCommands(program, version(), finish);
  program.addCommand(completionCommand().copyInheritedSettings(program));
  return program;
}

/**
 * Runs the command line and sets the process's exit code.
 *
 * @param argv as in process.argv
 */
export async function main(argv: readonly string[]): Promise<void> {
  // Whoever prints is told of its error; without these listeners it would end the process as well.
  process.stdout.on('error', () => {});
  process.stderr.on('error', () => {});
  let ended = false;
  process.once('exit', (code) => {
    // A process that runs out of events has not done its work.
    if (!ended && code === EXIT.done) process.exitCode = EXIT.failed;
  });
  let exitCode: number = EXIT.done;
  try {
    const program = await buildProgram(argv[2], (code) => {
      exitCode = code;
    });
    if (argv.length <= 2) program.help({ error: true });
    await program.parseAsync([...argv]);
  } catch (error) {
    exitCode = report(error);
  }
  ended = true;
  await endWith(exitCode);
}

function report(error: unknown): number {
  // Commander has printed its own message; asking for help is no error.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  if (error instanceof Failure) {
    if (error.code === INVALID_CONFIG) {
      // One fault a line, each with its place, as compilers tell theirs.
      sayLines(error.message);
      return EXIT.failed;
    }
    say(`oriel: ${error.message}`);
    return isUsageFailure(error) ? EXIT.usage : EXIT.failed;
  }
  // A reader that has seen enough (`| head`) closes the pipe: that is its right, not an error.
  if (isReaderGone(error)) return EXIT.done;
  if (error instanceof Error && 'syscall' in error && error.syscall === 'write') {
    say(`oriel: standard output cannot be written: ${error.message}`);
    return EXIT.failed;
  }
  const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
  sayLines(`oriel: this is a defect of Oriel, please report it: ${reason}`);
  return EXIT.failed;
}
