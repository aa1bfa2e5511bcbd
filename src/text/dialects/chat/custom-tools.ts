import { isObject, nonEmptyTextOf, objectOf, textOf } from '../../../schema/untrusted.ts';
import type {
  Grammar,
  Json,
  NativePart,
  Tool,
  ToolCallPart,
  ToolChoice,
  ToolReference,
} from '../../canonical.ts';
import { callIdFromWire } from '../call-ids.ts';
import { nativePart } from '../native-parts.ts';

const CUSTOM = new Set(['name', 'description', 'format']);

/** The grammar of a custom tool; null for any text; undefined for a format that is not known. */
function grammarOf(format: unknown, path: string): Grammar | null | undefined {
  if (format === null || format === undefined) return null;
  const { type, grammar } = objectOf(format);
  if (type === 'text') return null;
  const { syntax, definition } = objectOf(grammar);
  const isKnown = type === 'grammar' && typeof syntax === 'string';
  return isKnown && typeof definition === 'string' ? { path, syntax, definition } : undefined;
}

/** A tool whose input is free text; native where it has more than other dialects can be sent. */
export function decodeCustomTool(tool: Json, path: string): Tool | NativePart {
  const own = objectOf(tool['custom']);
  const name = nonEmptyTextOf(own['name']);
  const grammar = grammarOf(own['format'], `${path}.custom.format`);
  const isNative =
    Object.keys(tool).some((key) => key !== 'type' && key !== 'custom') ||
    Object.keys(own).some((key) => !CUSTOM.has(key));
  if (tool['type'] !== 'custom' || name === null || grammar === undefined || isNative) {
    return nativePart('chat', path, tool);
  }
  return {
    type: 'tool',
    path,
    name,
    description: nonEmptyTextOf(own['description']),
    parameters: null,
    strict: null,
    textInput: { grammar },
  };
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
