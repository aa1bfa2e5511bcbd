import { isObject, nonEmptyTextOf, objectOf, textOf } from '../../schema/untrusted.ts';
import {
  type DialectName,
  functionOf,
  type Grammar,
  type Json,
  type ResponseFormat,
  type Tool,
  type ToolChoice,
  type ToolReference,
} from '../canonical/canonical.ts';
import { nativePart } from './native-parts.ts';

// Fields that both of OpenAI's formats have: chat completions and responses.

export const SHARED_LABELS = [
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'safety_identifier',
  'service_tier',
  'user',
] as const;

type Stop = string | readonly string[] | null | undefined;

/** The stop sequences of chat and legacy completions. */
export function stopOf({ stop }: { stop?: Stop }): readonly string[] | null {
  if (typeof stop === 'string') return [stop];
  return stop && stop.length > 0 ? stop : null;
}

/** The members of a tool that a choice names: chat has them in an object of their own. */
type MembersOf = (value: Json) => Json;

function referenceOf(value: Json, membersOf: MembersOf): ToolReference {
  const { type } = value;
  const isTool = type === 'function' || type === 'custom';
  const { name, namespace } = membersOf(value);
  return {
    type: isTool ? 'tool' : type === 'namespace' ? 'namespace' : 'native',
    name: textOf(name),
    namespace: nonEmptyTextOf(namespace),
    value,
    members: Object.entries(value),
  };
}

/** A choice of tools that is an object. */
export function decodeToolChoice(
  dialect: DialectName,
  choice: Json,
  membersOf: MembersOf,
): ToolChoice {
  const { type } = choice;
  const { name, namespace, mode, tools } = membersOf(choice);
  if ((type === 'function' || type === 'custom') && typeof name === 'string') {
    const group = nonEmptyTextOf(namespace);
    return { type: 'tool', name, ...(group !== null && { namespace: group }) };
  }
  const isMode = mode === 'auto' || mode === 'required';
  if (type === 'allowed_tools' && isMode && Array.isArray(tools) && tools.every(isObject)) {
    return { type: 'allowed', mode, tools: tools.map((tool) => referenceOf(tool, membersOf)) };
  }
  return nativePart(dialect, 'tool_choice', choice);
}

type JsonSchemaFormat = Extract<ResponseFormat, { readonly type: 'json-schema' }>;

/** The grammar of a custom tool; null for any text; undefined for a format that is not known. */
function grammarOf(format: unknown, path: string): Grammar | null | undefined {
  if (format === null || format === undefined) return null;
  const { type, grammar, ...flat } = objectOf(format);
  if (type === 'text') return null;
  // Chat has it in an object of its own.
  const { syntax, definition } = isObject(grammar) ? grammar : flat;
  const isKnown = type === 'grammar' && typeof syntax === 'string';
  return isKnown && typeof definition === 'string' ? { path, syntax, definition } : undefined;
}

/**
 * A tool whose input is free text; null for one without a name, or with an unknown format.
 *
 * @param own the object that has its name
 * @param ownPath the path of that
 */
export function decodeCustom(path: string, own: Json, ownPath: string): Tool | null {
  const name = nonEmptyTextOf(own['name']);
  const grammar = grammarOf(own['format'], `${ownPath}.format`);
  if (name === null || grammar === undefined) return null;
  const description = nonEmptyTextOf(own['description']);
  return { ...functionOf(path, { name, description }), textInput: { grammar } };
}

/** @param own valid by its schema */
export function decodeJsonSchema(own: Json): JsonSchemaFormat {
  return {
    type: 'json-schema',
    name: (own['name'] ?? null) as string | null,
    description: (own['description'] ?? null) as string | null,
    schema: (own['schema'] ?? {}) as Json,
    strict: (own['strict'] ?? null) as boolean | null,
  };
}

/** @param defaultName both formats require a name, which the messages format does not have */
export function encodeJsonSchema(
  { name, description, schema, strict }: JsonSchemaFormat,
  defaultName: string,
): Json {
  return {
    name: name ?? defaultName,
    ...(description !== null && { description }),
    schema,
    ...(strict !== null && { strict }),
  };
}
