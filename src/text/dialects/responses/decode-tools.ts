import * as v from 'valibot';
import { invalid } from '../../../schema/invalid.ts';
import { isObject, listOf, nonEmptyTextOf } from '../../../schema/untrusted.ts';
import type { Json, Namespace, NativePart, Tool, ToolChoice } from '../../canonical/canonical.ts';
import { nativePart } from '../native-parts.ts';
import { decodeCustom, decodeToolChoice } from '../openai-fields.ts';
import { functionTool } from './tool-fields.ts';
import { decodeSearchTool } from './tool-search.ts';

interface Decoding {
  /** Decodes a function; other tools are decoded here. */
  readonly decodeFunction: (tool: Json, path: string) => Tool | NativePart;
  readonly advice: string[];
}

/** Properties of custom tools that are decoded. */
const CUSTOM = new Set(['type', 'name', 'description', 'format', 'defer_loading']);

/** Whether a property asks for what happens without it. */
function isDefault(name: string, value: unknown): boolean {
  if (value === null || value === undefined) return true;
  return name === 'allowed_callers' && listOf(value).every((caller) => caller === 'direct');
}

/** A tool whose input is free text; native where it has more than other dialects can be sent. */
function decodeCustomTool(tool: Json, path: string): Tool | NativePart {
  const others = Object.keys(tool).filter((key) => !CUSTOM.has(key));
  const isPlain = others.every((key) => isDefault(key, tool[key]));
  const decoded = isPlain ? decodeCustom(path, tool, path) : null;
  return decoded ?? nativePart('responses', path, tool);
}

function decodeTool(
  tool: Json,
  path: string,
  { decodeFunction, advice }: Decoding,
): Tool | NativePart {
  switch (tool['type']) {
    case 'function':
      // The request's schema does not reach tools in namespaces and items.
      if (!v.is(functionTool.schema, tool)) {
        throw invalid(path, 'expected a function with a name, and an object as its parameters');
      }
      return decodeFunction(tool, path);
    case 'custom':
      if (tool['defer_loading'] === true) advice.push(`${path}.defer_loading`);
      return decodeCustomTool(tool, path);
    default:
      return decodeSearchTool(tool, path) ?? nativePart('responses', path, tool);
  }
}

/** The tools of a namespace. */
function decodeNamespace(
  group: Json,
  path: string,
  decoding: Decoding,
): readonly (Tool | NativePart)[] {
  const name = nonEmptyTextOf(group['name']);
  const inner = listOf(group['tools']);
  if (name === null || !inner.every(isObject)) return [nativePart('responses', path, group)];
  const namespace: Namespace = { name, description: nonEmptyTextOf(group['description']) };
  return inner.map((tool, index) => ({
    ...decodeTool(tool, `${path}.tools[${index}]`, decoding),
    namespace,
  }));
}

/** @param path the path of the list: `tools` */
export function decodeTools(
  tools: readonly Json[],
  path: string,
  decoding: Decoding,
): readonly (Tool | NativePart)[] {
  return tools.flatMap((tool, index) => {
    const toolPath = `${path}[${index}]`;
    if (tool['type'] === 'namespace') return decodeNamespace(tool, toolPath, decoding);
    if (tool['type'] !== 'tool_search' || tool['execution'] === 'client') {
      return [decodeTool(tool, toolPath, decoding)];
    }
    // The provider would search among the tools of the request, of which other upstreams get all.
    decoding.advice.push(toolPath);
    return [];
  });
}

/** The choice of tools of a request. */
export function toolChoiceOf(value: unknown): ToolChoice | null {
  if (value === null || value === undefined) return null;
  if (!isObject(value)) return { type: value as 'auto' };
  return decodeToolChoice('responses', value, (own) => own);
}
