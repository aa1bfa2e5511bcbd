import * as v from 'valibot';
import { type CodeOf, Failure } from '../../failure.ts';
import { checkedBody } from '../../schema/body.ts';
import { unknownName } from '../../schema/faults.ts';
import { field, integer } from '../../schema/fields.ts';

/** The fields of a request as its body or its form gives them. */
export type Fields = Readonly<Record<string, unknown>>;

/** What a request for media is checked by: an object without further fields. */
type RequestSchema = v.GenericSchema<Record<string, unknown>> & {
  readonly entries: v.ObjectEntries;
};

/** Characters of a prompt; those beyond the basic plane, like most emoji, count as one. */
export const LONGEST_PROMPT = 32_000;
const LONGEST_URL = 2048;
const LONGEST_WORD = 64;
const LONGEST_USER = 512;
const LONGEST_MODEL = 256;
const MOST_INPUTS = 16;
/** Characters of a field's name that an error repeats. */
const LONGEST_NAME = 60;

function hasAtMost(text: string, characters: number): boolean {
  // A character is one or two units of a text: only between the two is there anything to count.
  if (text.length <= characters) return true;
  return text.length <= 2 * characters && [...text].length <= characters;
}

/** A text of so many characters at the most. */
export const textUpTo = (characters: number) =>
  v.pipe(
    v.string(),
    v.check((text) => hasAtMost(text, characters)),
    v.metadata({ expects: `a text of at most ${characters} characters` }),
  );

export const model = field(
  v.pipe(v.string(), v.nonEmpty(), v.maxLength(LONGEST_MODEL)),
  'the model to ask',
  { expects: 'the name of a model' },
);

export const prompt = field(
  v.pipe(
    v.string(),
    v.check((text) => /\S/.test(text) && hasAtMost(text, LONGEST_PROMPT)),
  ),
  `what to make, in at most ${LONGEST_PROMPT} characters`,
  { expects: `a text of 1 to ${LONGEST_PROMPT} characters` },
);

/** One word of a model's own, or of ours: a size, a voice. */
export const word = (description: string) =>
  v.nullish(
    field(v.pipe(v.string(), v.regex(/^[\x20-\x7e]+$/), v.maxLength(LONGEST_WORD)), description, {
      expects: `1 to ${LONGEST_WORD} printable ASCII characters`,
    }),
  );

const url = v.pipe(v.string(), v.nonEmpty(), v.metadata({ expects: 'a URL' }));

export const inputImages = v.nullish(
  field(
    v.pipe(v.array(url), v.maxLength(MOST_INPUTS)),
    'reference images: http, https or data URLs, or what an upload gave',
    { expects: `a list of at most ${MOST_INPUTS} URLs` },
  ),
);

export const callbackUrl = v.nullish(
  field(
    v.pipe(v.string(), v.nonEmpty(), v.maxLength(LONGEST_URL)),
    'where to tell of the end of the task',
    { expects: `an http or https URL of at most ${LONGEST_URL} characters` },
  ),
);

export const seed = v.nullish(
  field(integer(0), 'makes a result repeatable, as far as the model can'),
);

export const user = v.nullish(
  field(textUpTo(LONGEST_USER), 'your name for your own user, for those who look for abuse'),
);

/** Half of a character that takes two has no bytes in UTF-8: it becomes the sign for what is none. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\ufffd');
}

/** What a prompted request says of itself, as its work keeps it. */
export function promptedBy(request: {
  readonly prompt: string;
  readonly seed?: number | null | undefined;
  readonly user?: string | null | undefined;
}) {
  return {
    prompt: wellFormed(request.prompt),
    seed: request.seed ?? null,
    user: request.user == null ? null : wellFormed(request.user),
  };
}

export function invalid(param: string, message: string, code?: CodeOf<'invalid_request'>): Failure {
  return new Failure('invalid_request', `${param}: ${message}`, {
    param,
    ...(code !== undefined && { code }),
  });
}

/**
 * Holds fields against a schema. One that is null counts as left out.
 *
 * @throws Failure invalid_request, `param` naming the first field at fault by its path
 */
export function checkFields<const Schema extends RequestSchema>(
  schema: Schema,
  fields: Fields,
): v.InferInput<Schema> {
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
  const known = Object.keys(schema.entries);
  const stranger = Object.keys(given).find((name) => !known.includes(name));
  if (stranger !== undefined) {
    const shown =
      stranger.length > LONGEST_NAME ? `${stranger.slice(0, LONGEST_NAME - 3)}...` : stranger;
    throw invalid(wellFormed(shown), unknownName(stranger, known));
  }
  return checkedBody(schema, given);
}
