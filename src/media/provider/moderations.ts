import { redactKeyInJson } from '../../routing/redaction.ts';
import { isObject, listOf, nonEmptyTextOf, objectOf } from '../../schema/untrusted.ts';
import type { ModerationAnswer, ModerationInput, ProviderContext } from './provider.ts';
import { invalidResponse, type Json, withProviderClient } from './provider-client.ts';

/** Bytes of a response: 64 results, each with a dozen categories. */
const MAX_RESPONSE_BYTES = 1024 * 1024;

type Result = ModerationAnswer['results'][number];

/** Sends a moderation request in OpenAI's format, which Oriel's own endpoint speaks as well. */
export function moderate(
  input: ModerationInput,
  context: ProviderContext,
): Promise<ModerationAnswer> {
  return withProviderClient(context, async (client) => {
    const { json } = await client.sendForJson({
      path: '/moderations',
      body: { json: { model: context.model, input } },
      maxBytes: MAX_RESPONSE_BYTES,
    });
    if (isObject(json['error'])) throw client.failureOf(null, json);
    const redacted = objectOf(redactKeyInJson(json, client.settings.apiKey));
    return readAnswer(redacted, resultCount(input));
  });
}

/** Number of results: one for each text, or one for all parts of an input. */
function resultCount(input: ModerationInput): number {
  return Array.isArray(input) && typeof input[0] === 'string' ? input.length : 1;
}

function readAnswer(json: Json, count: number): ModerationAnswer {
  const id = nonEmptyTextOf(json['id']);
  const model = nonEmptyTextOf(json['model']);
  const results = listOf(json['results']).map(readResult);
  if (id === null || model === null || results.length !== count) {
    throw invalidResponse('no moderation that can be used');
  }
  return { id, model, results };
}

function readResult(value: unknown): Result {
  const result = objectOf(value);
  const { flagged } = result;
  const categories = valuesOf(result['categories'], false);
  const scores = valuesOf(result['category_scores'], 0);
  if (typeof flagged !== 'boolean' || categories === null || scores === null) {
    throw invalidResponse('a moderation without its categories');
  }
  return { ...result, flagged, categories, category_scores: scores };
}

/** The values of an object, all of one type. Providers send null for categories that a model ignores. */
function valuesOf<Value>(object: unknown, defaultValue: Value): Record<string, Value> | null {
  if (!isObject(object)) return null;
  const values = Object.entries(object).map(
    ([name, value]) => [name, value ?? defaultValue] as const,
  );
  // JSON.parse returns Infinity for numbers such as 1e999.
  return values.every(
    ([, value]) => typeof value === typeof defaultValue && Number.isFinite(Number(value)),
  )
    ? (Object.fromEntries(values) as Record<string, Value>)
    : null;
}
