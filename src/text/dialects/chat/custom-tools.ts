import { objectOf, textOf } from '../../../schema/untrusted.ts';
import type { Json, NativePart, Tool, ToolCallPart } from '../../canonical/canonical.ts';
import { callOf } from '../calls.ts';
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
  const own = { id: textOf(call['id']), name };
  return { ...callOf(path, own, textOf(input)), hasTextInput: true };
}
