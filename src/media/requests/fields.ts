import * as v from 'valibot';
import { checkedBody, unknownFields } from '../../schema/body.ts';
import { boundedText, field, integer, nullish } from '../../schema/fields.ts';
import { invalid } from '../../schema/invalid.ts';

/** The unvalidated fields of a request's body or form. */
export type Fields = Readonly<Record<string, unknown>>;

/** A schema of a request body. */
export type RequestSchema<Input = Record<string, unknown>> = v.GenericSchema<Input> & {
  readonly entries: v.ObjectEntries;
};

/** Characters of a prompt; a surrogate pair, like most emoji, counts as one. */
export const MAX_PROMPT_LENGTH = 32_000;
const MAX_URL_LENGTH = 2048;
const MAX_SHORT_TEXT_LENGTH = 64;
const MAX_USER_LENGTH = 512;
const MAX_MODEL_LENGTH = 256;
export const MAX_INPUTS = 16;
/** Names by which clients send prompts and images; without them the result would be another, and charged. */
const CONTENT = /^(prompt|images?|image_urls?|input_(images?|reference)|mask|files?)(\[.*)?$/;

function hasAtMost(text: string, characters: number): boolean {
  // A character has one or two UTF-16 units: characters are counted only between the two bounds.
  if (text.length <= characters) return true;
  return text.length <= 2 * characters && [...text].length <= characters;
}

/** A text with a maximum number of characters. */
export const textUpTo = (characters: number) =>
  v.pipe(
    v.string(),
    v.check((text) => hasAtMost(text, characters)),
    v.metadata({ expects: `a text of at most ${characters} characters` }),
  );

export const model = field(boundedText(MAX_MODEL_LENGTH), 'name of the model', {
  expects: 'the name of a model',
});

export const prompt = field(
  v.pipe(
    v.string(),
    v.check((text) => /\S/.test(text) && hasAtMost(text, MAX_PROMPT_LENGTH)),
  ),
  `description of the output, in at most ${MAX_PROMPT_LENGTH} characters`,
  { expects: `a text of 1 to ${MAX_PROMPT_LENGTH} characters` },
);

const word = v.pipe(
  v.string(),
  v.regex(/^[\x20-\x7e]+$/),
  v.maxLength(MAX_SHORT_TEXT_LENGTH),
  v.metadata({ expects: `1 to ${MAX_SHORT_TEXT_LENGTH} printable ASCII characters` }),
);

/** A short ASCII text that is passed on to the model, such as a size or a language. */
export const shortText = (description: string) => nullish(word, description);

export const voice = nullish(
  v.union([word, v.strictObject({ id: word })]),
  "name of a voice of the model, or the id of one of the provider's account; by default the model's own",
  {
    expects: `a name of 1 to ${MAX_SHORT_TEXT_LENGTH} printable ASCII characters, or {"id": name}`,
  },
);

const url = v.pipe(v.string(), v.nonEmpty(), v.metadata({ expects: 'a URL' }));

export const inputImages = nullish(
  v.pipe(v.array(url), v.maxLength(MAX_INPUTS)),
  'reference images: http, https or data URLs, or URLs of uploads',
  { expects: `a list of at most ${MAX_INPUTS} URLs` },
);

const seed = nullish(integer(0), 'seed for repeatable results, as far as the model supports it');

const user = nullish(
  textUpTo(MAX_USER_LENGTH),
  'your identifier of your end user, for abuse detection',
);

/** The fields of every endpoint that creates a task. */
export const taskFields = {
  callback_url: nullish(
    boundedText(MAX_URL_LENGTH),
    'URL that gets the callback when the task ends',
    { expects: `an http or https URL of at most ${MAX_URL_LENGTH} characters` },
  ),
  seed,
  user,
};

/** Replaces unpaired surrogates, which UTF-8 cannot encode, by U+FFFD. */
export const wellFormed = (text: string): string => text.replace(/\p{Surrogate}/gu, '\ufffd');

interface PromptFields {
  readonly prompt: string;
  readonly seed?: v.InferInput<typeof seed>;
  readonly user?: v.InferInput<typeof user>;
}

/** The prompt, seed and user of a body as a task's request stores them. */
export function promptFieldsOf({ prompt: text, seed: number, user: name }: PromptFields) {
  return {
    prompt: wellFormed(text),
    seed: number ?? null,
    user: name == null ? null : wellFormed(name),
  };
}

/**
 * The names of fields that a schema does not have, which are not sent.
 *
 * @throws Failure invalid_request for a field of content
 */
export function unknownNames(schema: RequestSchema, fields: Fields): readonly string[] {
  const names = Object.keys(unknownFields(schema, fields));
  const content = names.find((name) => CONTENT.test(name));
  if (content === undefined) return names;
  throw invalid(content, `unknown; expected one of ${Object.keys(schema.entries).join(', ')}`);
}

/**
 * Validates the fields that a schema has, and returns them. A field that is null counts as left out.
 *
 * @throws Failure invalid_request, `param` naming the first invalid field by its path
 */
export function checkFields<const Schema extends RequestSchema>(
  schema: Schema,
  fields: Fields,
): v.InferInput<Schema> {
  const unknown = new Set(unknownNames(schema, fields));
  const given = Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => value !== null && !unknown.has(name)),
  );
  return checkedBody(schema, given);
}
