import type { Effort } from '../../../config/models.ts';
import { checkedBody } from '../../../schema/body.ts';
import { isObject, listOf } from '../../../schema/untrusted.ts';
import type {
  Json,
  NativePart,
  ReasoningRequest,
  ResponseFormat,
  TextRequest,
  Tool,
} from '../../canonical.ts';
import { nativePart } from '../native-parts.ts';
import { decodeFunction, decodeJsonSchema } from '../openai-fields.ts';
import { decodeToolChoice, decodeTools } from './decode-tools.ts';
import { decodeTurns } from './decode-turns.ts';
import { responsesRequest } from './request.ts';
import { addedTools } from './tool-search.ts';

const LOGPROBS = 'message.output_text.logprobs';

/** Properties that TextRequest has. */
const KNOWN = new Set([
  'model',
  'input',
  'instructions',
  'max_output_tokens',
  'temperature',
  'top_p',
  'reasoning',
  'text',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'stream',
  'stream_options',
  'include',
  'top_logprobs',
]);

/** Properties that only advise: they do not change the content of an answer. */
const ADVICE = new Set([
  'metadata',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'safety_identifier',
  'store',
  'user',
]);

/** Values that equal the absence of a property, which then only advises. */
const DEFAULTS: Readonly<Record<string, readonly unknown[]>> = {
  background: [false],
  service_tier: ['auto', 'default'],
  truncation: ['disabled'],
};

/** Properties of a request that TextRequest does not have. */
interface Rest {
  readonly native: NativePart[];
  readonly advice: string[];
}

/** Collects the properties of an object that are not known. */
function collectUnknown(value: Json, known: ReadonlySet<string>, path: string, rest: Rest): void {
  for (const name in value) {
    if (known.has(name) || value[name] === null || value[name] === undefined) continue;
    rest.native.push(nativePart('responses', `${path}.${name}`, value[name]));
  }
}

function collectTop(body: Json, rest: Rest): void {
  for (const name in body) {
    const value = body[name];
    if (value === null || value === undefined || KNOWN.has(name)) continue;
    const isDefault = Object.hasOwn(DEFAULTS, name) && DEFAULTS[name]!.includes(value);
    if (isDefault || ADVICE.has(name)) rest.advice.push(name);
    else rest.native.push(nativePart('responses', name, value));
  }
}

const TOOL = new Set(['type', 'name', 'description', 'parameters', 'strict']);

/** Whether only the model may call a tool, which is the default. */
function isDirect(callers: unknown): boolean {
  return listOf(callers).every((caller) => caller === 'direct');
}

function decodeTool(value: Json, path: string, rest: Rest): Tool {
  for (const name in value) {
    if (TOOL.has(name) || value[name] === null || value[name] === undefined) continue;
    if (name === 'defer_loading' && value[name] === false) continue;
    if (name === 'allowed_callers' && isDirect(value[name])) continue;
    rest.native.push(nativePart('responses', `${path}.${name}`, value[name]));
  }
  return decodeFunction(path, value);
}

/** The tools of a request, and those that items of its input add. */
function allTools(tools: readonly Json[], input: unknown, rest: Rest) {
  const decoding = {
    decodeFunction: (tool: Json, path: string) => decodeTool(tool, path, rest),
    advice: rest.advice,
  };
  const own = decodeTools(tools, 'tools', decoding);
  const added = addedTools(input);
  if (added.length === 0) return own;
  const all = [...own, ...added.flatMap(([list, path]) => decodeTools(list, path, decoding))];
  const known = new Set<string>();
  // Several searches may find the same tool.
  return all.filter((tool) => {
    if (tool.type === 'native') return true;
    const key = JSON.stringify([tool.namespace?.name, tool.name]);
    return !known.has(key) && known.add(key);
  });
}

function decodeFormat(value: unknown, rest: Rest): ResponseFormat | null {
  if (!isObject(value)) return null;
  if (value['type'] === 'text') return { type: 'text' };
  if (value['type'] === 'json_object') return { type: 'json-object' };
  if (value['type'] === 'json_schema') return decodeJsonSchema(value);
  rest.native.push(nativePart('responses', 'text.format', value));
  return null;
}

const REASONING = new Set(['effort', 'summary', 'generate_summary']);

function decodeReasoning(value: unknown, rest: Rest): ReasoningRequest | null {
  if (!isObject(value)) return null;
  const { effort, summary, generate_summary: former, ...others } = value;
  if (others['context'] === 'auto') rest.advice.push('reasoning.context');
  collectUnknown(
    others['context'] === 'auto' ? { ...others, context: null } : others,
    REASONING,
    'reasoning',
    rest,
  );
  if ((effort ?? summary ?? former ?? null) === null) return null;
  return {
    effort: (effort ?? null) as Effort | null,
    budget: null,
    summary: (summary ?? former ?? null) as string | null,
  };
}

const TEXT = new Set(['format', 'verbosity']);
const STREAM_OPTIONS = new Set(['include_obfuscation']);

/**
 * Decodes a request of a responses client.
 *
 * @throws Failure invalid_request, `param` naming the field by its path
 */
export function decodeRequest(value: unknown): TextRequest {
  const body: Json = checkedBody(responsesRequest, value);
  const rest: Rest = { native: [], advice: [] };
  collectTop(body, rest);
  const tools = (body['tools'] ?? []) as readonly Json[];
  const include = (body['include'] ?? []) as readonly string[];
  include.forEach((included, index) => {
    // Other values belong to native tools, which are refused by themselves.
    if (included !== LOGPROBS) rest.advice.push(`include[${index}]`);
  });
  const text = isObject(body['text']) ? body['text'] : {};
  collectUnknown(text, TEXT, 'text', rest);
  const streamOptions = isObject(body['stream_options']) ? body['stream_options'] : {};
  if ((streamOptions['include_obfuscation'] ?? null) !== null) {
    rest.advice.push('stream_options.include_obfuscation');
  }
  collectUnknown(streamOptions, STREAM_OPTIONS, 'stream_options', rest);
  const topLogprobs = (body['top_logprobs'] ?? null) as number | null;
  const logprobs = include.includes(LOGPROBS) || (topLogprobs ?? 0) > 0;
  const reasoning = decodeReasoning(body['reasoning'], rest);
  const format = decodeFormat(text['format'], rest);
  const turns = decodeTurns(body['instructions'], body['input'], rest.advice);
  return {
    dialect: 'responses',
    body,
    model: body['model'] as string,
    stream: body['stream'] === true,
    includeUsage: true,
    turns,
    tools: allTools(tools, body['input'], rest),
    toolChoice: decodeToolChoice(body['tool_choice']),
    parallelToolCalls: (body['parallel_tool_calls'] ?? null) as boolean | null,
    maxOutputTokens: (body['max_output_tokens'] ?? null) as number | null,
    temperature: (body['temperature'] ?? null) as number | null,
    topP: (body['top_p'] ?? null) as number | null,
    topK: null,
    stop: null,
    n: null,
    frequencyPenalty: null,
    presencePenalty: null,
    seed: null,
    logprobs: logprobs ? true : null,
    topLogprobs: logprobs ? topLogprobs : null,
    logitBias: null,
    format,
    verbosity: (text['verbosity'] ?? null) as string | null,
    reasoning,
    native: rest.native,
    advice: rest.advice,
  };
}
