import { isObject, listOf, objectsOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';
import { byType, type NeutralValues } from '../field-table.ts';
import { feature } from '../inspection.ts';

/** The reported usage does not include the tokens of compaction. */
export const contextEdits = byType({
  clear_thinking: null,
  clear_tool_uses: null,
  compact: feature('compaction'),
});

/** Input tokens from which Anthropic clears tool uses where the request sets no trigger. */
const DEFAULT_TRIGGER = 100_000;
/** Tool uses that Anthropic keeps where the request does not say. */
const DEFAULT_KEPT_TOOL_USES = 3;
/** Turns whose thinking Anthropic keeps where the request does not say. */
const DEFAULT_KEPT_TURNS = 1;

/** Edits of earlier messages that change nothing of the request at hand. */
export const keepsContext: NeutralValues = {
  words: 'edits that clear nothing',
  test: (value, body) => {
    if (!isObject(value)) return false;
    return listOf(value['edits']).every((edit) => isObject(edit) && changesNothing(edit, body));
  },
};

function changesNothing(edit: Json, body: Json): boolean {
  const type = String(edit['type']);
  if (type.startsWith('clear_thinking_')) return keepsThinking(edit, body);
  return type.startsWith('clear_tool_uses_') && keepsToolUses(edit, body);
}

function keepsThinking({ keep }: Json, body: Json): boolean {
  const kind = isObject(keep) ? keep['type'] : keep;
  if (kind === 'all') return true;
  const turns = objectsOf(body['messages']).filter(
    ({ role, content }) =>
      role === 'assistant' && objectsOf(content).some(({ type }) => THINKING.includes(type)),
  );
  return turns.length <= numberOf(keep, DEFAULT_KEPT_TURNS);
}

const THINKING: readonly unknown[] = ['thinking', 'redacted_thinking'];

function keepsToolUses({ keep, trigger }: Json, body: Json): boolean {
  const uses = objectsOf(body['messages']).reduce(
    (sum, { content }) => sum + objectsOf(content).filter(({ type }) => type === 'tool_use').length,
    0,
  );
  if (uses <= numberOf(keep, DEFAULT_KEPT_TOOL_USES)) return true;
  const limit = numberOf(trigger, DEFAULT_TRIGGER);
  if (isObject(trigger) && trigger['type'] === 'tool_uses') return uses <= limit;
  return maxTokensOf(body) < limit;
}

/** The `value` of a setting; 0 for one of an unknown kind, below which nothing is. */
function numberOf(setting: unknown, usual: number): number {
  if (setting === undefined || setting === null) return usual;
  const value = isObject(setting) ? setting['value'] : null;
  return typeof value === 'number' ? value : 0;
}

/** Bytes of a number, a boolean or punctuation in JSON. */
const MAX_SCALAR_BYTES = 32;

/** More tokens than the input of a request can have: one for each byte. Media by address may have any number. */
function maxTokensOf({ system, tools, messages }: Json): number {
  let bytes = 0;
  const waiting: unknown[] = [system, tools, messages];
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (typeof value === 'string') bytes += Buffer.byteLength(value);
    else if (Array.isArray(value)) for (const one of value) waiting.push(one);
    else if (isObject(value)) {
      if (value['type'] === 'url' || value['type'] === 'file') return Infinity;
      for (const name in value) {
        bytes += Buffer.byteLength(name);
        waiting.push(value[name]);
      }
    }
    bytes += MAX_SCALAR_BYTES;
  }
  return bytes;
}
