import * as v from 'valibot';
import { EFFORTS } from '../../config/settings/models.ts';
import { QUALITIES } from '../../media/task/task-request.ts';
import { integer, number, optional, withDefault } from '../../schema/fields.ts';
import { TASK_STATES, TASK_TYPES } from '../../store/task.ts';
import { flag, textField, textFlag } from '../command/command.ts';

/** Address of a daemon with default settings. */
export const DEFAULT_URL = 'http://127.0.0.1:8787';

const json = { json: flag('print one JSON document') };

/** Address and key of the daemon that a command talks to. */
export const clientFlags = v.strictObject({
  url: textFlag(`address of the daemon; default ORIEL_URL, then ${DEFAULT_URL}`, 'a URL'),
  key: textFlag('API key; default ORIEL_API_KEY', 'a key'),
});

/** Parameters of a chat completion. */
export const chatFlags = v.strictObject({
  model: textFlag('model; default the first text model of the catalog', 'the id of a model'),
  system: textFlag('system prompt', 'a text'),
  effort: optional(v.picklist(EFFORTS), 'how much the model reasons'),
  maxTokens: optional(integer(1, 1_048_576), 'longest answer in tokens, reasoning included'),
  temperature: optional(number(0, 2), 'how freely the model chooses its words'),
  json: flag('print the whole answer as one JSON document'),
});

export const connectFlags = v.strictObject({
  model: textFlag('model; default the first text model that the key may use', 'the id of a model'),
  json: flag('print the configuration, or the list, as JSON'),
});

export const modelsFlags = v.strictObject({ json: flag('print the catalog as JSON') });

/** Parameters of generations and edits. */
const image = {
  model: textFlag('model; default the first image model of the catalog', 'the id of a model'),
  size: textFlag('size or ratio', '1024x1024 or 16:9, for example'),
  quality: optional(v.picklist(QUALITIES), 'quality of the result'),
  n: optional(integer(1, 10), 'number of images'),
  seed: optional(integer(0), 'seed for repeatable results'),
  idempotencyKey: textFlag('name of the request: a repeated one is executed once', 'a text'),
};

/** Parameters of a generation. */
export const generateFlags = v.strictObject({
  ...image,
  input: optional(v.array(v.pipe(v.string(), v.nonEmpty())), 'reference image; may be repeated', {
    expects: 'a file, or an http or https URL',
    path: true,
  }),
  duration: optional(integer(1, 3600), 'seconds of a video or of audio'),
  voice: textFlag('voice of audio', 'a name that the model knows'),
  format: optional(v.picklist(['mp3', 'wav', 'opus', 'aac', 'flac', 'pcm']), 'format of audio'),
  callbackUrl: textFlag('address to which the daemon sends the task', 'an http or https URL'),
});

/** Parameters of an image edit. */
export const editFlags = v.strictObject({
  prompt: textField('what to change; - for standard input', 'a text', { short: 'p' }),
  mask: textFlag('PNG of the size of the first image, transparent where it may change', 'a file', {
    path: true,
  }),
  ...image,
});

const saving = (description: string) => ({
  out: textFlag(description, 'a folder, a file, or -', { short: 'o', path: true }),
  overwrite: flag('replace files that exist'),
  show: withDefault(v.boolean(), true, 'do not show pictures in the terminal'),
  ...json,
  quiet: flag('print nothing but paths and errors', { short: 'q' }),
});

/** Where results are stored, and what is printed. */
export const resultFlags = v.strictObject(
  saving('where results are stored; default the current folder'),
);

/** As `resultFlags`, but without `--out` the results of a task are not stored. */
export const taskResultFlags = v.strictObject(saving('store the results there'));

export const waitFlags = v.strictObject({
  wait: withDefault(v.boolean(), true, 'print the id of the task and do not wait'),
});

export const uploadFlags = v.strictObject(json);

export const taskFlags = v.strictObject({
  wait: flag('wait until the task has ended'),
  callbacks: flag("list the deliveries to the task's callback URL"),
});

export const tasksFlags = v.strictObject({
  status: optional(v.picklist(TASK_STATES), 'only tasks in this state'),
  type: optional(v.picklist(TASK_TYPES), 'only tasks of this type'),
  limit: optional(integer(1, 100), 'most tasks to show, newest first'),
  ...json,
});

/** Longest name of a provider, a model or a file, in characters. */
const maxLength = 4096;

/** Flags of `oriel models import`. */
export const importFlags = v.strictObject({
  provider: textFlag('provider in the configuration; default its only one', 'its name', {
    maxLength,
  }),
  from: textFlag('provider in the map; default the name or the kind of --provider', 'its name', {
    maxLength,
  }),
  models: textFlag('only these models', 'a name or a pattern such as claude-*', { maxLength }),
  creditsPerUnit: withDefault(
    number(0.000001, 1_000_000),
    1,
    "credits for one unit of the map's currency, the US dollar",
  ),
  update: flag('also change prices and limits of models in the configuration'),
  dryRun: flag('show the changes, write nothing'),
  config: textFlag('configuration; default ORIEL_CONFIG, then oriel.yaml', 'a file', {
    maxLength,
    path: true,
  }),
  json: flag('print the changes as JSON'),
});
