import { redactKeyInJson } from '../../routing/redaction.ts';
import { isObject, listOf, nonEmptyTextOf, objectOf } from '../../schema/untrusted.ts';
import type { ModerationAnswer, ModerationInput, Workshop } from './provider.ts';
import { type Json, jsonOf, withRemote } from './remote.ts';
import { unusable } from './unusable.ts';

/** Bytes of an answer: 64 results, each with a dozen categories. */
const MOST_BYTES = 1024 * 1024;

type Result = ModerationAnswer['results'][number];

/** Asks a provider that speaks OpenAI's moderations, as other gateways of ours do. */
export function moderate(input: ModerationInput, workshop: Workshop): Promise<ModerationAnswer> {
  return withRemote(workshop, async (remote) => {
    const { body } = await remote.sendForJson({
      path: '/moderations',
      sent: jsonOf({ model: workshop.model, input }),
      most: MOST_BYTES,
    });
    if (isObject(body['error'])) throw remote.told(null, body);
    return readAnswer(objectOf(redactKeyInJson(body, remote.settings.apiKey)), expected(input));
  });
}

/** Results: one for each text, one for all parts of a thing. */
function expected(input: ModerationInput): number {
  return Array.isArray(input) && typeof input[0] === 'string' ? input.length : 1;
}

function readAnswer(body: Json, count: number): ModerationAnswer {
  const id = nonEmptyTextOf(body['id']);
  const model = nonEmptyTextOf(body['model']);
  const results = listOf(body['results']).map(readResult);
  if (id === null || model === null || results.length !== count) {
    throw unusable('no moderation that can be used');
  }
  return { id, model, results };
}

function readResult(value: unknown): Result {
  const result = objectOf(value);
  const { flagged } = result;
  const categories = valuesOf(result['categories'], false);
  const scores = valuesOf(result['category_scores'], 0);
  if (typeof flagged !== 'boolean' || categories === null || scores === null) {
    throw unusable('a moderation without its categories');
  }
  return { ...result, flagged, categories, category_scores: scores };
}

/** The values of an object, all of one type; null stands for what a model does not judge. */
function valuesOf<Value>(told: unknown, none: Value): Record<string, Value> | null {
  if (!isObject(told)) return null;
  const values = Object.entries(told).map(([name, value]) => [name, value ?? none] as const);
  // JSON has no infinite numbers, but may be written with digits for one.
  return values.every(([, value]) => typeof value === typeof none && Number.isFinite(Number(value)))
    ? (Object.fromEntries(values) as Record<string, Value>)
    : null;
}
