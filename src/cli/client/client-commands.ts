import type { CommandDefinition, FlagGroup } from '../command/command.ts';
import { modelCommands } from '../daemon/daemon-commands.ts';
import {
  chatFlags,
  clientFlags,
  connectFlags,
  editFlags,
  generateFlags,
  importFlags,
  modelsFlags,
  resultFlags,
  taskFlags,
  taskResultFlags,
  tasksFlags,
  uploadFlags,
  waitFlags,
} from './client-flags.ts';

const ENVIRONMENT = `Environment:
  ORIEL_URL       address of the daemon
  ORIEL_API_KEY   API key`;

const group = (heading: string, schema: FlagGroup['schema']): FlagGroup => ({ heading, schema });
const options = (schema: FlagGroup['schema']) => group('Options:', schema);

/** A command that sends requests to a daemon. */
function clientCommand({ flags = [], notes = [], ...rest }: CommandDefinition): CommandDefinition {
  const daemon = group('Daemon:', clientFlags);
  return { ...rest, flags: [...flags, daemon], notes: [...notes, ENVIRONMENT] };
}

const importModels: CommandDefinition = {
  name: 'import',
  summary: 'Add models with prices and limits from a price map',
  positionals: [
    {
      syntax: '<file>',
      description: "LiteLLM's model_prices_and_context_window.json, or - for standard input",
      path: true,
    },
  ],
  flags: [options(importFlags)],
  notes: [
    `The models are added to the configuration. Models that it already has do not
change. With --update their prices and limits change, and nothing else.
Comments stay. A running daemon reads the file at SIGHUP.`,
  ],
  examples: [
    'oriel models import prices.json --provider anthropic --dry-run',
    'oriel models import prices.json --models "gpt-5*" --credits-per-unit 100',
  ],
  run: async (input) => (await import('./import-run.ts')).runImport(input),
};

/** The commands that send requests to a daemon. */
export const clientCommands: readonly CommandDefinition[] = [
  clientCommand({
    name: 'connect',
    summary: 'Show how to connect Codex, Claude Code, an SDK or another client',
    positionals: [{ syntax: '[client]', description: 'the client; without it, all are listed' }],
    flags: [options(connectFlags)],
    notes: ['Nothing is written: copy the files and commands to where they belong.'],
    examples: [
      'oriel connect',
      'oriel connect codex',
      'oriel connect opencode --url https://oriel.example.com --model gpt-5',
    ],
    run: async (input) => (await import('./connect-run.ts')).runConnect(input),
  }),
  clientCommand({
    name: 'chat',
    summary: 'Talk to a model',
    positionals: [
      {
        syntax: '[prompt]',
        description: 'your message; - for standard input, which also follows a prompt',
      },
    ],
    flags: [options(chatFlags)],
    notes: ['Without a prompt, it is a conversation on your terminal. /exit or ^D ends it.'],
    examples: [
      'oriel chat "Why is the sky blue?"',
      'git diff | oriel chat "Write a commit message" --model sandbox-chat',
      'oriel chat --effort high --system "Answer in one sentence."',
    ],
    run: async (input) => (await import('./chat-run.ts')).runChat(input),
  }),
  clientCommand({
    name: 'models',
    summary: 'List the models of a daemon; add, change or import models',
    subcommands: [...modelCommands, importModels],
    flags: [options(modelsFlags)],
    run: async (input) => (await import('./catalog.ts')).runModels(input),
  }),
  clientCommand({
    name: 'generate',
    summary: 'Generate images, a video or audio',
    positionals: [{ syntax: '[prompt]', description: 'what to generate; - for standard input' }],
    flags: [
      group('Generation:', generateFlags),
      group('Results:', resultFlags),
      group('Waiting:', waitFlags),
    ],
    notes: [
      `The model decides whether the result is an image, a video or audio. Files are
named by the prompt unless --out names one. Their paths are printed, and
terminals that support images show them.`,
    ],
    examples: [
      'oriel generate "a lighthouse at dusk" --size 16:9 --out lighthouse.png',
      'oriel generate "at dawn" --input lighthouse.png --n 2 --out pictures/',
      'oriel generate "waves on a beach" --model sandbox-video --duration 4',
      'oriel task $(oriel generate "a tall ship" --no-wait) --wait --out .',
    ],
    run: async (input) => (await import('./media-run.ts')).runGenerate(input),
  }),
  clientCommand({
    name: 'edit',
    summary: 'Edit images with a model',
    positionals: [{ syntax: '<images...>', description: 'the images to edit', path: true }],
    flags: [group('Edit:', editFlags), group('Results:', resultFlags)],
    examples: [
      'oriel edit lighthouse.png --prompt "make it snow"',
      'oriel edit room.png --mask window.png --prompt "a garden" --out garden.png',
      'oriel edit chair.png lamp.png --prompt "both in one room" --size 3:2',
    ],
    run: async (input) => (await import('./media-run.ts')).runEdit(input),
  }),
  clientCommand({
    name: 'upload',
    summary: 'Upload images to a daemon, to use them as references',
    positionals: [{ syntax: '<files...>', description: 'the images to upload', path: true }],
    flags: [options(uploadFlags)],
    examples: [
      'oriel upload lighthouse.png',
      'oriel generate "at dawn" --input $(oriel upload lighthouse.png)',
    ],
    run: async (input) => (await import('./upload.ts')).runUpload(input),
  }),
  clientCommand({
    name: 'task',
    summary: 'Show a task, wait for it, save its results',
    positionals: [{ syntax: '<id>', description: 'the id of the task' }],
    flags: [options(taskFlags), group('Results:', taskResultFlags)],
    examples: [
      'oriel task TASK',
      'oriel task TASK --wait --out pictures/',
      'oriel task TASK --callbacks',
    ],
    run: async (input) => (await import('./task-run.ts')).runTask(input),
  }),
  clientCommand({
    name: 'tasks',
    summary: "List the tasks of this key's account",
    flags: [options(tasksFlags)],
    examples: ['oriel tasks', 'oriel tasks --status failed --type image --limit 20'],
    run: async (input) => (await import('./task-run.ts')).runTasks(input),
  }),
];
