import { codedFailure, Failure } from '../../failure.ts';
import { invalid } from '../../schema/invalid.ts';
import { isObject, listOf, nonEmptyTextOf, objectsOf, textOf } from '../../schema/untrusted.ts';
import type { Json } from '../canonical/canonical.ts';
import { isReference } from '../dialects/responses/item-fields.ts';

/** A response as far as later requests need it. */
export interface StoredResponse {
  /** The response as clients get it. */
  readonly response: Json;
  /** The items that its request added to the conversation; those of the client have no identifiers that Oriel made. */
  readonly input: readonly Json[];
  /** Identifier of the response that it continues; null for none. */
  readonly previous: string | null;
  /** Identifier of the conversation that it belongs to; null for none. */
  readonly conversation: string | null;
}

/** Where earlier responses and items are looked up. All methods return undefined for what is not known. */
export interface Lookup {
  response(id: string): Promise<StoredResponse | undefined>;
  item(id: string): Promise<Json | undefined>;
  /** The items of a conversation, in order. @param most bytes above which it throws */
  conversation(id: string, most: number): Promise<readonly Json[] | undefined>;
  /** The summary in a sealed compaction; null for one of another account, and for one that was changed. */
  open(sealed: string): Promise<string | null>;
}

/** A request with the whole conversation. */
export interface Rebuilt {
  /** All items, for a provider that knows none of them. */
  readonly input: readonly Json[];
  /** The items that the request itself has. */
  readonly own: readonly Json[];
  readonly previous: string | null;
  readonly conversation: string | null;
}

/** Responses of one chain. */
const MAX_RESPONSES = 1000;

/** How the content of a compaction begins that Oriel has made. */
export const SEALED = 'oriel.compaction.';

/** What models get before a summary. */
const SUMMARY = 'The conversation until here was replaced by this summary:\n\n';

const sealedIn = ({ type, encrypted_content: content }: Json) =>
  type === 'compaction' && typeof content === 'string' && content.startsWith(SEALED)
    ? content
    : null;

/** Whether a message has the summary of a compaction. */
export const isSummary = ({ content }: Json) =>
  typeof content === 'string' && content.startsWith(SUMMARY);

/** Whether a request needs what is stored: it continues a conversation, or names items or a compaction. */
export function isContinuing(body: Json): boolean {
  const { previous_response_id: previous, conversation, input } = body;
  const isRelated = (item: Json) => isReference(item) || sealedIn(item) !== null;
  return (previous ?? conversation ?? null) !== null || objectsOf(input).some(isRelated);
}

/** What a request refers to was not found. */
export class UnknownReference extends Failure {}

/**
 * Rebuilds the conversation that a request continues: by `previous_response_id`, `conversation`, and references to items.
 *
 * @param most bytes of the conversation
 * @throws UnknownReference where there is no such response or conversation, or a part of it was deleted
 */
export async function rebuild(body: Json, lookup: Lookup, most: number): Promise<Rebuilt> {
  const previous = nonEmptyTextOf(body['previous_response_id']);
  const { conversation: named = null } = body;
  const conversation = nonEmptyTextOf(isObject(named) ? named['id'] : named);
  if (previous !== null && conversation !== null) {
    const message = 'expected previous_response_id or conversation, received both';
    // A provider that keeps both may say what it means.
    throw new UnknownReference('invalid_request', message, { param: 'previous_response_id' });
  }
  let left = most;
  const count = (items: readonly Json[]) => {
    for (const item of items) left -= Buffer.byteLength(JSON.stringify(item));
    if (left < 0) throw tooLong(most);
    return items;
  };
  const own: Json[] = [];
  const sent: Json[] = [];
  for (const [index, item] of itemsOf(body['input']).entries()) {
    const isStored = isReference(item) && typeof item['id'] === 'string';
    const known = isStored ? await lookup.item(item['id'] as string) : undefined;
    own.push(...count([known ?? item]));
    const path = `input[${index}].encrypted_content`;
    for (const one of known ? replayed(known) : [item]) sent.push(await opened(one, lookup, path));
  }
  const earlier =
    previous === null
      ? await conversationItems(conversation, lookup, left)
      : await chainOf(previous, lookup, count);
  // Items that a client repeats from the conversation are there once.
  const repeated = new Set(own.map(({ id }) => id).filter((id) => typeof id === 'string'));
  const kept = earlier.filter(({ id }) => !repeated.has(id as string));
  const path = previous === null ? 'conversation' : 'previous_response_id';
  const input: Json[] = [];
  for (const item of kept.flatMap(replayed)) input.push(await opened(item, lookup, path));
  return { input: [...input, ...sent], own, previous, conversation };
}

/** An item as providers get it: the summary of a compaction. @param param what the failure names */
async function opened(item: Json, lookup: Lookup, param: string): Promise<Json> {
  const sealed = sealedIn(item);
  if (sealed === null) return item;
  const summary = await lookup.open(sealed);
  if (summary !== null) return { type: 'message', role: 'user', content: SUMMARY + summary };
  const message = `expected a compaction of this account, received one of another or a changed one`;
  throw invalid(param, message);
}

/** The items of a chain of responses, oldest first. */
async function chainOf(
  last: string,
  lookup: Lookup,
  count: (items: readonly Json[]) => readonly Json[],
): Promise<readonly Json[]> {
  const parts: (readonly Json[])[] = [];
  const seen = new Set<string>();
  for (let id: string | null = last; id !== null; ) {
    if (seen.has(id) || seen.size === MAX_RESPONSES) {
      const message = `expected at most ${MAX_RESPONSES} responses in a chain; begin a new one with their summary`;
      throw new Failure('invalid_request', message, { param: 'previous_response_id' });
    }
    seen.add(id);
    const found: StoredResponse | undefined = await lookup.response(id);
    if (found === undefined) throw unknownResponse(id, last);
    const { status } = found.response;
    if (status === 'queued' || status === 'in_progress') {
      const message = `the response ${JSON.stringify(id)} is not complete`;
      throw new Failure('invalid_request', message, { param: 'previous_response_id' });
    }
    const { conversation, input } = found;
    const output = objectsOf(found.response['output']);
    parts.push(count([...input, ...output]));
    if (conversation !== null) {
      const message = `${JSON.stringify(id)} belongs to the conversation ${conversation}: continue that`;
      throw new Failure('invalid_request', message, { param: 'previous_response_id' });
    }
    id = found.previous;
  }
  return parts.reverse().flat();
}

async function conversationItems(
  id: string | null,
  lookup: Lookup,
  left: number,
): Promise<readonly Json[]> {
  if (id === null) return [];
  const items = await lookup.conversation(id, left);
  if (items !== undefined) return items;
  const message = `there is no conversation ${JSON.stringify(id)}`;
  throw new UnknownReference('invalid_request', message, {
    code: 'document_not_found',
    param: 'conversation',
  });
}

function unknownResponse(id: string, last: string): Failure {
  const what = `there is no response ${JSON.stringify(id)}`;
  const options = { code: 'document_not_found', param: 'previous_response_id' } as const;
  if (id === last) return new UnknownReference('invalid_request', what, options);
  const message = `${what}, which ${JSON.stringify(last)} continues: it was deleted, or has expired`;
  return new Failure('invalid_request', message, options);
}

export function tooLong(most: number): Failure {
  const message = `the conversation has more than ${most} bytes (server.bodyLimit); begin a new one with its summary`;
  return codedFailure('context_length_exceeded', message);
}

/** The input of a request as items. */
export function itemsOf(input: unknown): readonly Json[] {
  if (typeof input !== 'string') return objectsOf(input);
  return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: input }] }];
}

/** An item as lists show it: every message has a type and parts. */
export function shownItem(item: Json, id: string): Json {
  const { content, role } = item;
  const type = role === 'assistant' ? 'output_text' : 'input_text';
  const parts = typeof content === 'string' && { content: [{ type, text: content }] };
  return { type: 'message', ...item, ...parts, id };
}

/** Items that providers accept without an identifier. */
const NAMELESS: ReadonlySet<unknown> = new Set([
  ...[undefined, null, 'message', 'function_call', 'function_call_output', 'custom_tool_call'],
  'custom_tool_call_output',
]);

/** An earlier item as a provider gets it that does not know it. */
function replayed(item: Json): readonly Json[] {
  const { id, type, encrypted_content: encrypted } = item;
  if (type === 'reasoning' && textOf(encrypted) === '') {
    // The provider that made it does not return it, and others cannot read it.
    return listOf(item['content']).length === 0 ? [] : [item];
  }
  if (isReference(item) || typeof id !== 'string' || !NAMELESS.has(type)) return [item];
  const { id: _, ...nameless } = item;
  return [nameless];
}
