import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Command, CommanderError } from 'commander';
import { INVALID_CONFIG } from '../config/yaml/invalid.ts';
import { Failure } from '../failure.ts';
import { findOperation } from '../operations/registry.ts';
import { nearest } from '../schema/faults.ts';
import { addCommand } from './command/build-command.ts';
import { isUsageFailure, usageFailure } from './command/command.ts';
import { imageCommand } from './images/operation-command.ts';
import { endWith } from './terminal/exit.ts';
import { isClosedPipe, printStderr, printStderrLines } from './terminal/terminal.ts';

/** Exit codes beside those of signals. */
const EXIT = { done: 0, failed: 1, usage: 2 } as const;

function version(): string {
  const file = createRequire(import.meta.url).resolve('oriel/package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

/**
 * Builds commander's tree of commands.
 *
 * @param name the first argument. The command of this name is built alone, since building all takes
 *   as long as a small image.
 */
async function buildProgram(
  name: string | undefined,
  finish: (exitCode: number) => void,
): Promise<Command> {
  const operation = findOperation(name ?? '');
  const commands = operation ? [imageCommand(operation)] : (await import('./commands.ts')).COMMANDS;
  const line = { version: version(), commands };
  const program = new Command('oriel')
    .description('Batch image work on every core, and a self-hosted gateway to models')
    .version(line.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .addHelpCommand(
      new Command('help')
        .argument('[command]')
        .description('Print help for a command')
        .helpOption(false)
        .helpGroup('Shell:'),
    )
    .showHelpAfterError('(see --help)')
    // Commander would not wrap descriptions beside terms as wide as --chroma-subsampling <subsampling>.
    .configureHelp({ minWidthToWrap: 20, subcommandTerm: (command) => command.name() })
    .configureOutput({
      writeErr: (text) => printStderrLines(text.trimEnd()),
      outputError: (text, write) =>
        write(text.replace(/^error: /, 'oriel: ').replace(/'(-.+\.\w+)'/, '$&; ./$1 names a file')),
    })
    .exitOverride()
    .enablePositionalOptions();
  const named = commands.find((command) => command.name === name);
  for (const command of named ? [named] : commands) addCommand(program, command, line, finish);
  return program;
}

/**
 * Runs the command line and sets the process's exit code.
 *
 * @param argv as in process.argv
 */
export async function main(argv: readonly string[]): Promise<void> {
  // `print` reports errors of its writes. Without these listeners they would also end the process.
  process.stdout.on('error', () => {});
  process.stderr.on('error', () => {});
  let ended = false;
  process.once('exit', (code) => {
    // The event loop ran empty before the command ended.
    if (!ended && code === EXIT.done) process.exitCode = EXIT.failed;
  });
  let exitCode: number = EXIT.done;
  try {
    const program = await buildProgram(argv[2], (code) => {
      exitCode = code;
    });
    if (argv.length <= 2) program.help({ error: true });
    if (argv[2] === '-v' || argv[2] === 'version') {
      const kind = argv[2] === '-v' ? 'option' : 'command';
      throw usageFailure(`unknown ${kind} ${JSON.stringify(argv[2])}; did you mean --version?`);
    }
    if (argv[2] === 'help') helpFor(program, argv.slice(3));
    await program.parseAsync([...argv]);
  } catch (error) {
    exitCode = report(error);
  }
  ended = true;
  await endWith(exitCode);
}

/** Prints the help for a command, or for one of its subcommands. @throws Failure for an unknown one */
function helpFor(program: Command, topics: readonly string[]): void {
  let command = program;
  for (const topic of topics) {
    if (topic.startsWith('-')) return;
    const names = command.commands.map((one) => one.name());
    const found = command.commands.find((one) => one.name() === topic);
    if (!found && names.length === 0) break;
    if (!found) {
      const near = nearest(topic, names);
      const hint = near === undefined ? 'oriel help lists all' : `did you mean ${near}?`;
      throw usageFailure(`unknown command ${JSON.stringify(topic)}; ${hint}`);
    }
    command = found;
  }
  command.help();
}

function report(error: unknown): number {
  // Commander has printed its own message; asking for help is no error.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  if (error instanceof Failure) {
    if (error.code === INVALID_CONFIG) {
      // One line for each error, with its position.
      printStderrLines(error.message);
      return EXIT.failed;
    }
    if (error.code === 'invalid_recipe') printStderrLines(error.message);
    else printStderr(`oriel: ${error.message}`);
    return isUsageFailure(error) ? EXIT.usage : EXIT.failed;
  }
  // A reader such as `head` closes the pipe when it has read enough, which is no error.
  if (isClosedPipe(error)) return EXIT.done;
  if (error instanceof Error && 'syscall' in error && error.syscall === 'write') {
    printStderr(`oriel: standard output cannot be written: ${error.message}`);
    return EXIT.failed;
  }
  const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
  printStderrLines(`oriel: this is a defect of Oriel, please report it: ${reason}`);
  return EXIT.failed;
}
