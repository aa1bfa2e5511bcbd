import { isObject, objectOf, textOf } from '../../../schema/untrusted.ts';
import type {
  Json,
  NativePart,
  Tool,
  ToolCallPart,
  ToolChoice,
  ToolReference,
} from '../../canonical/canonical.ts';
import { callIdFromWire } from '../calls.ts';
import { nativePart } from '../native-parts.ts';
import { decodeCustom } from '../openai-fields.ts';

const CUSTOM = new Set(['name', 'description', 'format']);

/** A tool whose input is free text; native where it has more than other dialects can be sent. */
export function decodeCustomTool(tool: Json, path: string): Tool | NativePart {
  const own = objectOf(tool['custom']);
  const isPlain =
    tool['type'] === 'custom' &&
    Object.keys(tool).every((key) => key === 'type' || key === 'custom') &&
    Object.keys(own).every((key) => CUSTOM.has(key));
  const decoded = isPlain ? decodeCustom(path, own, `${path}.custom`) : null;
  return decoded ?? nativePart('chat', path, tool);
}

/** A call of a tool with text input; null for a call of another type. */
export function decodeCustomCall(call: Json, path: string): ToolCallPart | null {
  const { name, input } = objectOf(call['custom']);
  if (call['type'] !== 'custom' || typeof name !== 'string') return null;
  const id = callIdFromWire(textOf(call['id']));
  return { type: 'tool-call', path, id, name, arguments: textOf(input), hasTextInput: true };
}

function referenceOf(value: Json): ToolReference {
  const type = textOf(value['type']);
  const isTool = type === 'function' || type === 'custom';
  return {
    type: isTool ? 'tool' : 'native',
    name: isTool ? textOf(objectOf(value[type])['name']) : '',
    namespace: null,
    value,
  };
}

/** A choice that is an object. */
export function decodeToolChoice(choice: Json): ToolChoice {
  const { type, function: own, custom, allowed_tools: allowed } = choice;
  const { name } = objectOf(type === 'custom' ? custom : own);
  if ((type === 'function' || type === 'custom') && typeof name === 'string') {
    return { type: 'tool', name };
  }
  const { mode, tools } = objectOf(allowed);
  const isMode = mode === 'auto' || mode === 'required';
  if (type === 'allowed_tools' && isMode && Array.isArray(tools) && tools.every(isObject)) {
    return { type: 'allowed', mode, tools: (tools as readonly Json[]).map(referenceOf) };
  }
  return nativePart('chat', 'tool_choice', choice);
}
