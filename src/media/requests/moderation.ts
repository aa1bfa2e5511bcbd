import * as v from 'valibot';
import type { Model } from '../../config/settings/schema.ts';
import { choice, choiceBy, openObject } from '../../schema/choice.ts';
import { field } from '../../schema/fields.ts';
import { isObject } from '../../schema/untrusted.ts';
import type { ModerationInput } from '../provider/provider.ts';
import {
  checkFields,
  type Fields,
  MAX_PROMPT_LENGTH,
  model,
  textUpTo,
  wellFormed,
} from './fields.ts';
import { expectType } from './validated-request.ts';

type Part = Exclude<ModerationInput, string | readonly string[]>[number];

/** Texts or parts in one request. */
const MAX_ITEMS = 64;

const text = textUpTo(MAX_PROMPT_LENGTH);
const url = v.pipe(v.string(), v.nonEmpty(), v.metadata({ expects: 'a URL' }));
const part = choiceBy('type', {
  text: openObject({ type: v.literal('text'), text }),
  image_url: openObject({ type: v.literal('image_url'), image_url: openObject({ url }) }),
});

const listOf = <const Item extends v.GenericSchema>(item: Item) =>
  v.pipe(
    v.array(item),
    v.nonEmpty(),
    v.maxLength(MAX_ITEMS),
    v.metadata({ expects: `a list of 1 to ${MAX_ITEMS} texts or parts` }),
  );
const texts = listOf(text);
const parts = listOf(part);

const input = choice(
  'a text, a list of texts or a list of parts',
  [text, texts, parts],
  (value) => {
    if (typeof value === 'string') return text;
    if (!Array.isArray(value)) return null;
    return isObject(value[0]) ? parts : texts;
  },
);

/** The body of POST /v1/moderations. */
export const moderationRequest = v.object({
  model: v.nullish(model),
  input: field(input, 'input to classify: a text, texts, or text and image parts of one input'),
});

/** @throws Failure invalid_request that names the field */
export function readModerationRequest(fields: Fields, found: Model): ModerationInput {
  expectType(fields, found, 'moderation');
  const { input: asked } = checkFields(moderationRequest, fields);
  if (typeof asked === 'string') return wellFormed(asked);
  if (isTexts(asked)) return asked.map(wellFormed);
  return asked.map(
    (one): Part =>
      one.type === 'text'
        ? { type: 'text', text: wellFormed(one.text) }
        : { type: 'image_url', image_url: { url: one.image_url.url } },
  );
}

function isTexts(list: readonly unknown[]): list is readonly string[] {
  return typeof list[0] === 'string';
}
