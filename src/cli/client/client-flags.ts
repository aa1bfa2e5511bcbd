import * as v from 'valibot';
import { EFFORTS } from '../../config/models.ts';
import { describeField, field, integer, number } from '../../schema/fields.ts';

/** Where a daemon runs that nobody has told otherwise. */
export const DEFAULT_URL = 'http://127.0.0.1:8787';

const text = (description: string, expects: string) =>
  v.optional(field(v.pipe(v.string(), v.nonEmpty()), description, { expects }));

/** Which daemon a command talks to, and as whom. */
export const clientFlags = v.strictObject({
  url: text(`where the daemon is; ORIEL_URL, then ${DEFAULT_URL}`, 'an http or https URL'),
  key: text('API key; ORIEL_API_KEY where not given', 'a key'),
});

/** What is asked of the model, and how. */
export const chatFlags = v.strictObject({
  model: text("the model; the catalog's first text model where not given", 'the id of a model'),
  system: text('what the model is told before all else', 'a text'),
  effort: v.optional(field(v.picklist(EFFORTS), 'how much the model is to reason')),
  maxTokens: v.optional(
    field(integer(1, 1_048_576), 'the longest answer, reasoning included, in tokens'),
  ),
  temperature: v.optional(field(number(0, 2), 'how freely the model picks its words')),
  json: v.optional(field(v.boolean(), 'print the whole answer as one JSON document'), false),
});

/** How a list is printed. */
export const listFlags = v.strictObject({
  json: v.optional(field(v.boolean(), 'print the catalog as JSON'), false),
});

/** What is said, given by place. */
export const promptField = describeField(
  'prompt',
  field(v.string(), 'what to say; - for standard input, which also follows a prompt', {
    expects: 'a text',
  }),
);
