import * as v from 'valibot';
import { EFFORTS } from '../../config/settings/models.ts';
import { QUALITIES } from '../../media/task/task-request.ts';
import { field, integer, number } from '../../schema/fields.ts';
import { TASK_STATES, TASK_TYPES } from '../../store/task.ts';
import { flag, textField, textFlag } from '../command/flags.ts';

/** Address of a daemon with default settings. */
export const DEFAULT_URL = 'http://127.0.0.1:8787';

const json = { json: flag('print one JSON document') };

/** Address and key of the daemon that a command talks to. */
export const clientFlags = v.strictObject({
  url: textFlag(`where the daemon is; ORIEL_URL, then ${DEFAULT_URL}`, 'an http or https URL'),
  key: textFlag('API key; ORIEL_API_KEY where not given', 'a key'),
});

/** Parameters of a chat completion. */
export const chatFlags = v.strictObject({
  model: textFlag("the model; the catalog's first text model where not given", 'the id of a model'),
  system: textFlag('the system prompt', 'a text'),
  effort: v.optional(field(v.picklist(EFFORTS), 'how much the model is to reason')),
  maxTokens: v.optional(
    field(integer(1, 1_048_576), 'the longest answer, reasoning included, in tokens'),
  ),
  temperature: v.optional(field(number(0, 2), 'how freely the model picks its words')),
  json: flag('print the whole answer as one JSON document'),
});

export const modelsFlags = v.strictObject({ json: flag('print the catalog as JSON') });

const model = { model: textFlag("the model; the catalog's first image model if none", 'its id') };

const image = {
  size: textFlag('how large, or in which ratio', '1024x1024 or 16:9, say'),
  quality: v.optional(field(v.picklist(QUALITIES), 'how carefully it is made')),
  n: v.optional(field(integer(1, 10), 'how many images')),
  seed: v.optional(field(integer(0), 'makes a result repeatable')),
};

const idempotencyKey = {
  idempotencyKey: textFlag(
    'a name of this request, so that a repeated one is executed once',
    'a text',
  ),
};

/** Parameters of a generation. */
export const generateFlags = v.strictObject({
  ...model,
  ...image,
  input: v.optional(
    field(v.array(v.pipe(v.string(), v.nonEmpty())), 'a reference image; may be given again', {
      expects: 'a file, or an http or https URL',
      path: true,
    }),
  ),
  duration: v.optional(field(integer(1, 3600), 'seconds of a video or of audio')),
  voice: textFlag('who speaks, in audio', 'a name that the model knows'),
  format: v.optional(
    field(v.picklist(['mp3', 'wav', 'opus', 'aac', 'flac', 'pcm']), 'how audio is stored'),
  ),
  callbackUrl: textFlag('where the daemon sends the result of the task', 'an http or https URL'),
  ...idempotencyKey,
});

/** Parameters of an image edit. */
export const editFlags = v.strictObject({
  prompt: textField('what is to be changed; - for standard input', 'a text', { short: 'p' }),
  mask: textFlag("where: a PNG of the first image's size, clear where it may change", 'a file', {
    path: true,
  }),
  ...model,
  ...image,
  ...idempotencyKey,
});

const destination = {
  out: textFlag('where results go; the current folder if not given', 'a folder, a file, or -', {
    short: 'o',
    path: true,
  }),
  overwrite: flag('replace files that exist'),
};

const reporting = {
  show: v.optional(field(v.boolean(), 'do not show pictures in the terminal'), true),
  ...json,
  quiet: flag('print nothing but paths and errors', { short: 'q' }),
};

/** Where results are stored, and what is printed. */
export const resultFlags = v.strictObject({ ...destination, ...reporting });

export const waitFlags = v.strictObject({
  wait: v.optional(field(v.boolean(), 'print the id of the task and do not wait'), true),
});

export const uploadFlags = v.strictObject(json);

export const taskFlags = v.strictObject({
  wait: flag('wait for its end'),
  callbacks: flag('list the calls of its callback URL'),
});

/** As `resultFlags`, but without `--out` the results of a task are not stored. */
export const taskResultFlags = v.strictObject({
  ...destination,
  out: textFlag('save its results there', 'a folder, a file, or -', { short: 'o', path: true }),
  ...reporting,
});

export const tasksFlags = v.strictObject({
  status: v.optional(field(v.picklist(TASK_STATES), 'only those in this state')),
  type: v.optional(field(v.picklist(TASK_TYPES), 'only those of this type')),
  limit: v.optional(field(integer(1, 100), 'how many, newest first')),
  ...json,
});

/** Longest name of a provider, a model or a file, in characters. */
const MAX_NAME = 4096;

/** Flags of `oriel models import`. */
export const importFlags = v.strictObject({
  provider: textFlag(
    "the configuration's provider of the models; the only one if not given",
    'its name',
    { maxLength: MAX_NAME },
  ),
  from: textFlag(
    "the map's provider; the name or the kind of --provider if not given",
    'its name',
    { maxLength: MAX_NAME },
  ),
  models: textFlag('only these models', 'a name or a pattern such as claude-*', {
    maxLength: MAX_NAME,
  }),
  creditsPerUnit: v.optional(
    field(number(0.000001, 1_000_000), "credits for one unit of the map's currency, the US dollar"),
    1,
  ),
  update: flag('also change prices and limits of models that the configuration has'),
  dryRun: flag('show the changes, write nothing'),
  config: textFlag('configuration; ORIEL_CONFIG, then oriel.yaml, if not given', 'a file', {
    maxLength: MAX_NAME,
    path: true,
  }),
  json: flag('print the changes as JSON'),
});
