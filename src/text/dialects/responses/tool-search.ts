import {
  isObject,
  nonEmptyTextOf,
  objectOf,
  objectsOf,
  textOf,
} from '../../../schema/untrusted.ts';
import {
  functionOf,
  type Json,
  type Part,
  type Tool,
  type ToolCallPart,
  type ToolResultPart,
} from '../../canonical/canonical.ts';
import { callIdFromWire, callOf } from '../calls.ts';

/** The name by which other formats know the tool that finds tools. */
const NAME = 'tool_search';

/** The tool by which a client finds further tools; null where the provider searches. */
export function decodeSearchTool(tool: Json, path: string): Tool | null {
  if (tool['type'] !== NAME || tool['execution'] !== 'client') return null;
  const description = nonEmptyTextOf(tool['description']);
  const parameters = isObject(tool['parameters']) ? tool['parameters'] : null;
  return { ...functionOf(path, { name: NAME, description, parameters }), isSearch: true };
}

function isClientSide({ execution, call_id: id }: Json): boolean {
  return (execution ?? 'client') === 'client' && nonEmptyTextOf(id) !== null;
}

/** A search of the model that the client ran; null for one that the provider ran. */
function decodeSearchCall(item: Json, path: string): ToolCallPart | null {
  if (!isClientSide(item)) return null;
  const call = { id: textOf(item['call_id']), name: NAME };
  return { ...callOf(path, call, JSON.stringify(objectOf(item['arguments']))), isSearch: true };
}

/** What a client found; the tools themselves are tools of the request. */
function decodeSearchResult(item: Json, path: string): ToolResultPart | null {
  if (!isClientSide(item)) return null;
  const names = objectsOf(item['tools']).flatMap(({ type, name, tools }) =>
    type === 'namespace'
      ? objectsOf(tools).map((inner) => `${textOf(name)}__${textOf(inner['name'])}`)
      : [textOf(name)],
  );
  const text =
    names.length > 0 ? `Tools that can be called now: ${names.join(', ')}` : 'No tools were found.';
  return {
    type: 'tool-result',
    path,
    callId: callIdFromWire(textOf(item['call_id'])),
    content: [{ type: 'text', path, text }],
    isError: false,
  };
}

/** Lists of tools that items of the input add to the request, with their paths. */
export function addedTools(input: unknown): readonly (readonly [readonly Json[], string])[] {
  return objectsOf(input).flatMap((item, index) => {
    const isAdding = item['type'] === 'additional_tools' || item['type'] === 'tool_search_output';
    const tools = isAdding ? objectsOf(item['tools']) : [];
    return tools.length > 0 ? [[tools, `input[${index}].tools`] as const] : [];
  });
}

/** A part that stands for an item of tools; null for one that the provider searched. */
export function decodeToolItem(item: Json, path: string): Part | null {
  return item['type'] === 'tool_search_call'
    ? decodeSearchCall(item, path)
    : decodeSearchResult(item, path);
}
