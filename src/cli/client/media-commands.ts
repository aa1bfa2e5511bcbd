import { Argument, Command } from 'commander';
import type { Field, ObjectSchema } from '../../schema/fields.ts';
import { addFlags, attachField } from '../flags.ts';
import { clientFlags } from './client-flags.ts';
import {
  editFlags,
  generateFlags,
  PLACES,
  resultFlags,
  taskFlags,
  taskResultFlags,
  tasksFlags,
  uploadFlags,
  waitFlags,
} from './media-flags.ts';

type Flags = Record<string, unknown>;

interface Shape {
  readonly name: string;
  readonly summary: string;
  /** As commander writes it: `[prompt]`, `<images...>`. */
  readonly place?: readonly [text: string, field: Field];
  readonly flags: readonly (readonly [heading: string, schema: ObjectSchema])[];
  readonly notes?: string;
  readonly examples: readonly string[];
}

function commandOf({ name, summary, place, flags, notes = '', examples }: Shape): Command {
  const command = new Command(name).description(summary);
  if (place) {
    const [text, field] = place;
    command.addArgument(attachField(new Argument(text, field.description), field));
  }
  for (const [heading, schema] of flags) addFlags(command, schema, heading);
  addFlags(command, clientFlags, 'Daemon:');
  return command.addHelpText(
    'after',
    `
${notes}Environment:
  ORIEL_URL       where the daemon is
  ORIEL_API_KEY   API key

Examples:
${examples.map((example) => `  oriel ${example}`).join('\n')}`,
  );
}

/** The commands that have pictures, video and audio made by a daemon. */
export function mediaCommands(finish: (exitCode: number) => void): Command[] {
  const generate = commandOf({
    name: 'generate',
    summary: 'Have an image made, a video or audio',
    place: ['[prompt]', PLACES.prompt],
    flags: [
      ['What is made:', generateFlags],
      ['Results:', resultFlags],
      ['Waiting:', waitFlags],
    ],
    notes: `The model's type decides whether it is an image, a video or audio. Files are named by the prompt
unless --out names one; the paths are printed, and a terminal that can shows the pictures.

`,
    examples: [
      'generate "a lighthouse at dusk" --size 16:9 --out lighthouse.png',
      'generate "the same at dawn" --input lighthouse.png --n 2 --out pictures/',
      'generate "waves on a beach" --model sandbox-video --duration 4',
      'task $(oriel generate "a tall ship" --no-wait) --wait --out .',
    ],
  }).action(async (prompt: string | undefined, flags: Flags) => {
    const { runGenerate } = await import('./generate-run.ts');
    finish(await runGenerate(prompt, flags));
  });

  const edit = commandOf({
    name: 'edit',
    summary: 'Have images changed',
    place: ['<images...>', PLACES.images],
    flags: [
      ['What is made:', editFlags],
      ['Results:', resultFlags],
    ],
    examples: [
      'edit lighthouse.png --prompt "make it snow"',
      'edit room.png --mask window.png --prompt "a garden outside" --out garden.png',
      'edit chair.png lamp.png --prompt "both in one room" --size 3:2',
    ],
  }).action(async (images: string[], flags: Flags) => {
    const { runEdit } = await import('./edit-run.ts');
    finish(await runEdit(images, flags));
  });

  const upload = commandOf({
    name: 'upload',
    summary: 'Keep images at a daemon, for use as references',
    place: ['<files...>', PLACES.files],
    flags: [['Options:', uploadFlags]],
    examples: [
      'upload lighthouse.png',
      'generate "at dawn" --input $(oriel upload lighthouse.png)',
    ],
  }).action(async (files: string[], flags: Flags) => {
    const { runUpload } = await import('./upload-run.ts');
    finish(await runUpload(files, flags));
  });

  const task = commandOf({
    name: 'task',
    summary: 'Show a task, wait for it, save what it gave',
    place: ['<id>', PLACES.task],
    flags: [
      ['Options:', taskFlags],
      ['Results:', taskResultFlags],
    ],
    examples: ['task TASK', 'task TASK --wait --out pictures/', 'task TASK --callbacks'],
  }).action(async (id: string, flags: Flags) => {
    const { runTask } = await import('./task-run.ts');
    finish(await runTask(id, flags));
  });

  const tasks = commandOf({
    name: 'tasks',
    summary: "List the tasks of this key's account",
    flags: [['Options:', tasksFlags]],
    examples: ['tasks', 'tasks --status failed --type image --limit 20'],
  }).action(async (flags: Flags) => {
    const { runTasks } = await import('./tasks-run.ts');
    finish(await runTasks(flags));
  });
  return [generate, edit, upload, task, tasks];
}
