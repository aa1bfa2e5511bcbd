import type { CommandDefinition, FlagGroup } from '../command/command.ts';
import {
  chatFlags,
  clientFlags,
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

const DAEMON: FlagGroup = { heading: 'Daemon:', schema: clientFlags };

const ENVIRONMENT = `Environment:
  ORIEL_URL       where the daemon is
  ORIEL_API_KEY   API key`;

const chat: CommandDefinition = {
  name: 'chat',
  summary: 'Talk to a model',
  positionals: [
    {
      name: 'prompt',
      description: 'what to say; - for standard input, which also follows a prompt',
    },
  ],
  flags: [{ heading: 'Options:', schema: chatFlags }, DAEMON],
  notes: [
    'Without a prompt, on a terminal, it is a conversation: /exit or ^D ends it.',
    ENVIRONMENT,
  ],
  examples: [
    'oriel chat "Why is the sky blue?"',
    'git diff | oriel chat "Write a commit message for this" --model sandbox-chat',
    'oriel chat --effort high --system "Answer in one sentence."',
  ],
  async run({ positionals: [prompt], flags }) {
    const { runChat } = await import('./chat-run.ts');
    return runChat(prompt as string | undefined, flags);
  },
};

const importModels: CommandDefinition = {
  name: 'import',
  summary: 'Add models with prices and limits from a price map to the configuration',
  positionals: [
    {
      name: 'file',
      description: "LiteLLM's model_prices_and_context_window.json, or - for standard input",
      required: true,
      path: true,
    },
  ],
  flags: [{ heading: 'Options:', schema: importFlags }],
  notes: [
    `Models that the configuration has stay as they are without --update, which changes prices and limits
alone. Comments stay. A running daemon reads the file at SIGHUP.`,
  ],
  examples: [
    'oriel models import prices.json --provider anthropic --dry-run',
    'oriel models import prices.json --provider openai --models "gpt-5*" --credits-per-unit 100',
  ],
  async run({ positionals: [file], flags }) {
    const { runImport } = await import('./import-run.ts');
    return runImport(file as string, flags);
  },
};

const models: CommandDefinition = {
  name: 'models',
  summary: 'List the models of a daemon, or import models into its configuration',
  subcommands: [importModels],
  flags: [{ heading: 'Options:', schema: modelsFlags }, DAEMON],
  notes: [ENVIRONMENT],
  async run({ flags }) {
    const { runModels } = await import('./models-run.ts');
    return runModels(flags);
  },
};

const generate: CommandDefinition = {
  name: 'generate',
  summary: 'Have an image made, a video or audio',
  positionals: [{ name: 'prompt', description: 'what is to be made; - for standard input' }],
  flags: [
    { heading: 'What is made:', schema: generateFlags },
    { heading: 'Results:', schema: resultFlags },
    { heading: 'Waiting:', schema: waitFlags },
    DAEMON,
  ],
  notes: [
    `The model's type decides whether it is an image, a video or audio. Files are named by the prompt
unless --out names one; the paths are printed, and a terminal that can shows the pictures.`,
    ENVIRONMENT,
  ],
  examples: [
    'oriel generate "a lighthouse at dusk" --size 16:9 --out lighthouse.png',
    'oriel generate "the same at dawn" --input lighthouse.png --n 2 --out pictures/',
    'oriel generate "waves on a beach" --model sandbox-video --duration 4',
    'oriel task $(oriel generate "a tall ship" --no-wait) --wait --out .',
  ],
  async run({ positionals: [prompt], flags }) {
    const { runGenerate } = await import('./generate-run.ts');
    return runGenerate(prompt as string | undefined, flags);
  },
};

const edit: CommandDefinition = {
  name: 'edit',
  summary: 'Have images changed',
  positionals: [
    {
      name: 'images',
      description: 'what is to be edited',
      required: true,
      variadic: true,
      path: true,
    },
  ],
  flags: [
    { heading: 'What is made:', schema: editFlags },
    { heading: 'Results:', schema: resultFlags },
    DAEMON,
  ],
  notes: [ENVIRONMENT],
  examples: [
    'oriel edit lighthouse.png --prompt "make it snow"',
    'oriel edit room.png --mask window.png --prompt "a garden outside" --out garden.png',
    'oriel edit chair.png lamp.png --prompt "both in one room" --size 3:2',
  ],
  async run({ positionals: [images], flags }) {
    const { runEdit } = await import('./edit-run.ts');
    return runEdit(images as string[], flags);
  },
};

const upload: CommandDefinition = {
  name: 'upload',
  summary: 'Keep images at a daemon, for use as references',
  positionals: [
    {
      name: 'files',
      description: 'images to be used as references',
      required: true,
      variadic: true,
      path: true,
    },
  ],
  flags: [{ heading: 'Options:', schema: uploadFlags }, DAEMON],
  notes: [ENVIRONMENT],
  examples: [
    'oriel upload lighthouse.png',
    'oriel generate "at dawn" --input $(oriel upload lighthouse.png)',
  ],
  async run({ positionals: [files], flags }) {
    const { runUpload } = await import('./upload.ts');
    return runUpload(files as string[], flags);
  },
};

const task: CommandDefinition = {
  name: 'task',
  summary: 'Show a task, wait for it, save what it gave',
  positionals: [{ name: 'id', description: 'the id of the task', required: true }],
  flags: [
    { heading: 'Options:', schema: taskFlags },
    { heading: 'Results:', schema: taskResultFlags },
    DAEMON,
  ],
  notes: [ENVIRONMENT],
  examples: [
    'oriel task TASK',
    'oriel task TASK --wait --out pictures/',
    'oriel task TASK --callbacks',
  ],
  async run({ positionals: [id], flags }) {
    const { runTask } = await import('./task-run.ts');
    return runTask(id as string, flags);
  },
};

const tasks: CommandDefinition = {
  name: 'tasks',
  summary: "List the tasks of this key's account",
  flags: [{ heading: 'Options:', schema: tasksFlags }, DAEMON],
  notes: [ENVIRONMENT],
  examples: ['oriel tasks', 'oriel tasks --status failed --type image --limit 20'],
  async run({ flags }) {
    const { runTasks } = await import('./tasks-run.ts');
    return runTasks(flags);
  },
};

/** The commands that send requests to a daemon. */
export const clientCommands: readonly CommandDefinition[] = [
  chat,
  models,
  generate,
  edit,
  upload,
  task,
  tasks,
];
