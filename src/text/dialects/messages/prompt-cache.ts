import { isObject, objectsOf, textOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';

const MARK = { cache_control: { type: 'ephemeral' } };

/** Types of blocks that get marks. Anthropic refuses marks on thinking and on empty texts. */
const MARKED_TYPES = new Set<unknown>(['text', 'image', 'document', 'tool_use', 'tool_result']);

/**
 * Adds cache marks to a request for Anthropic that has none: on the last tool, on the last text of the system, and at
 * the ends of the last two turns of the user. These are the four that Anthropic accepts.
 *
 * Anthropic looks for what it has cached at each mark, and at most 20 blocks before it. One turn of an agent can add
 * more blocks than that. The mark on the turn before is where the last request had its last mark.
 */
export function withCacheMarks(body: Json): Json {
  const tools = objectsOf(body['tools']);
  const messages = objectsOf(body['messages']);
  const { system } = body;
  const contents = messages.flatMap(({ content }) => objectsOf(content));
  if ([body, ...tools, ...objectsOf(system), ...contents].some(isMarked)) return body;
  // Anthropic refuses marks on tools that it loads later.
  const markedTools = withMark(tools, ({ defer_loading: isDeferred }) => isDeferred !== true);
  const markedSystem = withMark(blocksOf(system), takesMark);
  // What may be a single request would pay for writing its turn, which no request reads.
  const isConversation = tools.length > 0 || messages.some(({ role }) => role === 'assistant');
  const ends = isConversation ? endsOfTurns(messages).slice(-2) : [];
  return {
    ...body,
    ...(markedTools && { tools: markedTools }),
    ...(markedSystem && { system: markedSystem }),
    messages: messages.map((message, index) => {
      if (!ends.includes(index)) return message;
      return { ...message, content: withMark(blocksOf(message['content']), takesMark) };
    }),
  };
}

function isMarked({ cache_control: mark, content, source }: Json): boolean {
  if (mark !== undefined && mark !== null) return true;
  const nested = [content, isObject(source) ? source['content'] : null];
  return nested.some((blocks) => objectsOf(blocks).some(isMarked));
}

function takesMark({ type, text }: Json): boolean {
  return MARKED_TYPES.has(type) && (type !== 'text' || textOf(text).trim() !== '');
}

function blocksOf(content: unknown): readonly Json[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : objectsOf(content);
}

/** A list with a mark on the last entry that takes one; null where none does. */
function withMark(list: readonly Json[], takes: (one: Json) => boolean): readonly Json[] | null {
  const last = list.findLastIndex(takes);
  return last === -1
    ? null
    : list.map((one, index) => (index === last ? { ...one, ...MARK } : one));
}

/** The indexes of the last messages of the user's turns that take a mark. Several messages in a row are one turn. */
function endsOfTurns(messages: readonly Json[]): readonly number[] {
  const ends: number[] = [];
  let isNewTurn = true;
  for (const [index, { role, content }] of messages.entries()) {
    if (role === 'assistant') isNewTurn = true;
    if (role !== 'user' || !blocksOf(content).some(takesMark)) continue;
    if (!isNewTurn) ends.pop();
    ends.push(index);
    isNewTurn = false;
  }
  return ends;
}
