import { objectsOf, textOf } from '../../schema/untrusted.ts';
import { answerId, answerSeconds } from '../../store/answer-identity.ts';
import type { Json } from '../canonical/canonical.ts';
import { invalidAnswer } from '../dialects/answer-errors.ts';
import { isReference } from '../dialects/responses/item-fields.ts';
import { isSummary, shownItem } from './history.ts';
import type { StoredResponses } from './stored-responses.ts';

const PROMPT =
  'Write a summary that replaces this conversation from now on. Its reader sees the summary and the messages of the ' +
  'user, and nothing else. Keep what is needed to go on: the goal, decisions with their reasons, facts, names, paths, ' +
  'numbers and identifiers, results of tools, what is done, and what is open. Answer with the summary alone.';

/** The fields of a compaction that the model's request has too. */
const SHARED = [
  ...['model', 'instructions', 'service_tier', 'previous_response_id'],
  ...['prompt_cache_key', 'prompt_cache_options', 'prompt_cache_retention'],
];

const sharedOf = (body: Json): Json =>
  Object.fromEntries(
    SHARED.flatMap((name) => ((body[name] ?? null) === null ? [] : [[name, body[name]]])),
  );

/** The request for a summary of a conversation. @param body the rest of it is in a response that the provider keeps */
export function summaryRequest(body: Json, items: readonly Json[]): Json {
  const input = [...items.flatMap(asMessage), { role: 'user', content: PROMPT }];
  return { ...sharedOf(body), store: false, input };
}

/** The request for a provider's own compaction, whose endpoint takes these fields alone. */
export function compactionRequest(body: Json): Json {
  return { ...sharedOf(body), input: body['input'] };
}

/** An item as a message: providers refuse calls of tools that a request does not declare. */
function asMessage(item: Json): readonly Json[] {
  const { type = 'message', role, content, name } = item;
  if (type === 'reasoning') return [];
  if (role !== undefined) return [{ role, content }];
  // Of a provider, which alone can read it.
  if (String(type).startsWith('compaction') || isReference(item)) return [item];
  const { call_id: id, id: _, status: __, encrypted_content: ___, ...rest } = item;
  if (!String(type).endsWith('_output')) {
    const said = textOf(item['arguments']) || textOf(item['input']) || JSON.stringify(rest);
    return [{ role: 'assistant', content: `[${type} ${name ?? ''} ${id ?? ''}] ${said}` }];
  }
  const { output } = item;
  const text = typeof output === 'string' ? output : JSON.stringify(output ?? rest);
  return [{ role: 'user', content: `[${type} ${id ?? ''}] ${text}` }];
}

/**
 * A compaction: the messages of the user, and a summary that only Oriel can read.
 *
 * @param answer the model's response
 * @throws Failure `invalid_upstream_answer` without a summary
 */
export async function compactionOf(
  answer: Json,
  items: readonly Json[],
  stored: StoredResponses,
): Promise<Json> {
  const parts = objectsOf(answer['output']).flatMap(({ content }) => objectsOf(content));
  const summary = parts.map(({ text }) => textOf(text)).join('');
  if (summary.trim() === '') throw invalidAnswer('no summary');
  const kept = items.filter((item) => item['role'] === 'user' && !isSummary(item));
  return {
    ...{ id: answerId('resp'), object: 'response.compaction', created_at: answerSeconds() },
    output: [
      ...kept.map((item) => ({ ...shownItem(item, answerId('msg')), status: 'completed' })),
      { type: 'compaction', id: answerId('cmp'), encrypted_content: await stored.seal(summary) },
    ],
    usage: answer['usage'],
  };
}
