import { nextTurn } from '../../flow.ts';
import { tryParseJson } from '../../schema/json.ts';
import { isObject, listOf } from '../../schema/untrusted.ts';
import { answerId } from '../../store/answer-identity.ts';
import type { RowAnswer } from '../rows/row.ts';

/** The vectors of all items, in their order, in the encoding that the client asked for. */
export interface Embeddings extends RowAnswer {
  readonly vectors: readonly unknown[];
}

/** Characters of vectors that are parsed or written in one turn of the event loop: an answer may have 60 MB. */
const TURN = 500_000;

const VECTOR = /\[[-+.\deE,\s]{200,}\]/g;

/** Begins the place of a vector in an answer. Base64 has no colon. */
const PLACE = 'vector:';

/** Parses a provider's answer, its vectors one by one; undefined if it is invalid. */
export async function parseAnswer(text: string): Promise<unknown> {
  const vectors: unknown[] = [];
  let rest = '';
  let end = 0;
  let inTurn = 0;
  for (const { 0: vector, index } of text.matchAll(VECTOR)) {
    rest += `${text.slice(end, index)}"${PLACE}${vectors.length}"`;
    end = index + vector.length;
    vectors.push(tryParseJson(vector));
    inTurn += vector.length;
    if (inTurn < TURN) continue;
    inTurn = 0;
    await nextTurn();
  }
  const answer = tryParseJson(rest + text.slice(end));
  if (!isObject(answer)) return answer;
  for (const entry of Object.values(answer).flatMap(listOf)) {
    if (!isObject(entry)) continue;
    for (const [name, value] of Object.entries(entry)) {
      if (typeof value !== 'string' || !value.startsWith(PLACE)) continue;
      (entry as Record<string, unknown>)[name] = vectors[Number(value.slice(PLACE.length))];
    }
  }
  return answer;
}

/** OpenAI's response as JSON. @param tokens those that were charged */
export async function writeEmbeddings(
  { vectors }: Embeddings,
  model: string,
  tokens: number,
): Promise<string> {
  const entries: string[] = [];
  let inTurn = 0;
  for (const [index, embedding] of vectors.entries()) {
    const entry = JSON.stringify({ object: 'embedding', index, embedding });
    entries.push(entry);
    inTurn += entry.length;
    if (inTurn < TURN) continue;
    inTurn = 0;
    await nextTurn();
  }
  const usage = { prompt_tokens: tokens, total_tokens: tokens };
  // OpenAI has no identifier, but Mistral's SDK requires one.
  const rest = JSON.stringify({ id: answerId('embd'), model, usage }).slice(1);
  return `{"object":"list","data":[${entries.join(',')}],${rest}`;
}
