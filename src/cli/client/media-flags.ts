import * as v from 'valibot';
import { QUALITIES } from '../../media/task-request.ts';
import { describeField, field, integer } from '../../schema/fields.ts';
import { TASK_STATES, TASK_TYPES } from '../../store/task.ts';

const flag = (description: string, short?: string) =>
  v.optional(field(v.boolean(), description, short ? { short } : {}), false);

const text = (description: string, expects: string, notes: { path?: true; short?: string } = {}) =>
  v.optional(field(v.pipe(v.string(), v.nonEmpty()), description, { expects, ...notes }));

const json = { json: flag('print one JSON document') };

const model = { model: text("the model; the catalog's first image model if none", 'its id') };

const picture = {
  size: text('how large, or in which ratio', '1024x1024 or 16:9, say'),
  quality: v.optional(field(v.picklist(QUALITIES), 'how carefully it is made')),
  n: v.optional(field(integer(1, 10), 'how many images')),
  seed: v.optional(field(integer(0), 'makes a result repeatable')),
};

const idempotencyKey = {
  idempotencyKey: text('a name for this request, which makes it count once', 'a text'),
};

/** What is to be made. */
export const generateFlags = v.strictObject({
  ...model,
  ...picture,
  input: v.optional(
    field(v.array(v.pipe(v.string(), v.nonEmpty())), 'a reference image; may be given again', {
      expects: 'a file, or an http or https URL',
      path: true,
    }),
  ),
  duration: v.optional(field(integer(1, 3600), 'seconds of a video or of audio')),
  voice: text('who speaks, in audio', 'a name that the model knows'),
  format: v.optional(
    field(v.picklist(['mp3', 'wav', 'opus', 'aac', 'flac', 'pcm']), 'how audio is stored'),
  ),
  callbackUrl: text('whom the daemon tells of the end', 'an http or https URL'),
  ...idempotencyKey,
});

/** What is to become of images. */
export const editFlags = v.strictObject({
  prompt: field(v.pipe(v.string(), v.nonEmpty()), 'what is to be changed; - for standard input', {
    expects: 'a text',
    short: 'p',
  }),
  mask: text("where: a PNG of the first image's size, clear where it may change", 'a file', {
    path: true,
  }),
  ...model,
  ...picture,
  ...idempotencyKey,
});

const destination = {
  out: text('where results go; the current folder if not given', 'a folder, a file, or -', {
    short: 'o',
    path: true,
  }),
  overwrite: flag('replace files that exist'),
};

const manner = {
  show: v.optional(field(v.boolean(), 'do not show pictures in the terminal'), true),
  ...json,
  quiet: flag('print nothing but paths and errors', 'q'),
};

/** Where results go, and what is said meanwhile. */
export const resultFlags = v.strictObject({ ...destination, ...manner });

/** Whether there is anything to wait for. */
export const waitFlags = v.strictObject({
  wait: v.optional(field(v.boolean(), 'print the id of the task, and leave it to itself'), true),
});

export const uploadFlags = v.strictObject(json);

export const taskFlags = v.strictObject({
  wait: flag('wait for its end'),
  callbacks: flag('list what was told to its callback URL'),
});

/** Where results of a task that is looked up go: nowhere, unless that is said. */
export const taskResultFlags = v.strictObject({
  ...destination,
  out: text('save its results there', 'a folder, a file, or -', { short: 'o', path: true }),
  ...manner,
});

export const tasksFlags = v.strictObject({
  status: v.optional(field(v.picklist(TASK_STATES), 'only those in this state')),
  type: v.optional(field(v.picklist(TASK_TYPES), 'only those of this type')),
  limit: v.optional(field(integer(1, 100), 'how many, newest first')),
  ...json,
});

const place = (name: string, description: string, expects: string, path = false) =>
  describeField(name, field(v.string(), description, { expects, ...(path && { path: true }) }));

export const PLACES = {
  prompt: place('prompt', 'what is to be made; - for standard input', 'a text'),
  images: place('images', 'what is to be edited', 'files', true),
  files: place('files', 'images to be used as references', 'files', true),
  task: place('id', 'the id of the task', 'as `oriel tasks` lists it'),
};
