import type { Effort } from '../../../config/settings/models.ts';
import { checkedBody } from '../../../schema/body.ts';
import { invalid } from '../../../schema/invalid.ts';
import { isObject, objectOf, objectsOf, textOf } from '../../../schema/untrusted.ts';
import type {
  Json,
  ReasoningRequest,
  ResponseFormat,
  TextRequest,
  ToolChoice,
  Turn,
} from '../../canonical/canonical.ts';
import { openaiEndUser } from '../end-user.ts';
import type { RequestAddress } from '../endpoint.ts';
import { collectRest, type Findings, nativePart } from '../native-parts.ts';
import { decodeJsonSchema, decodeToolChoice, stopOf } from '../openai-fields.ts';
import { decodeTools, decodeTurns } from './decode-turns.ts';
import { type ChatRequest, fields } from './fields.ts';

/** The table of the fields within `stream_options`. */
const streamOptions = fields.within('stream_options')!;

function maxOutputTokensOf(body: ChatRequest): number | null {
  const { max_tokens: former, max_completion_tokens: limit } = body;
  if (former != null && limit != null && former !== limit) {
    throw invalid(
      'max_tokens',
      `expected the same as max_completion_tokens, ${limit}, or neither, received ${former}`,
    );
  }
  return limit ?? former ?? null;
}

/** The reasoning effort by `reasoning_effort` and its alias `thinking`, which must agree. */
function reasoningOf(body: ChatRequest): ReasoningRequest | null {
  const { reasoning_effort: effort = null, thinking } = body;
  if (thinking == null) return effort === null ? null : { effort, budget: null, summary: null };
  const disabled = thinking.type === 'disabled';
  if (effort !== null && disabled !== (effort === 'none')) {
    throw invalid(
      'thinking',
      `${thinking.type} contradicts reasoning_effort ${effort}`,
      'conflicting_parameters',
    );
  }
  if (disabled) return { effort: 'none' satisfies Effort, budget: null, summary: null };
  return { effort, budget: thinking.budget_tokens ?? null, summary: null };
}

function toolChoiceOf(choice: unknown): ToolChoice | null {
  if (choice === null || choice === undefined) return null;
  if (typeof choice === 'string') return { type: choice as 'auto' | 'none' | 'required' };
  return decodeToolChoice('chat', choice as Json, (value) =>
    objectOf(value[textOf(value['type'])]),
  );
}

function formatOf(format: unknown): ResponseFormat | null {
  if (format === null || format === undefined) return null;
  const {
    type,
    json_schema: own,
    schema,
  } = format as Readonly<Record<string, Json>> & {
    readonly type: string;
  };
  if (type === 'json_schema') return decodeJsonSchema(own!);
  // Of Together, Fireworks and llama.cpp, which instructor asks by its mode JSON_SCHEMA.
  if (type === 'json_object' && isObject(schema))
    return decodeJsonSchema({ name: 'response', schema });
  return { type: type === 'text' ? 'text' : 'json-object' };
}

/** Some compatible servers take -1 and 0 for all tokens. */
function topKOf({ top_k: topK }: ChatRequest): number | null {
  return topK != null && topK > 0 ? topK : null;
}

/** Fields of vLLM by which the answer continues the last message, and their values that ask for it. */
const CONTINUING = [
  ['continue_final_message', true],
  ['add_generation_prompt', false],
] as const;

/** The turns of a request, the last of which the answer continues where the client asks for it. */
function continuedTurns(
  body: ChatRequest,
  turns: readonly Turn[],
  { native }: Findings,
): readonly Turn[] {
  const asked = CONTINUING.filter(([name, value]) => body[name] === value);
  const last = turns.at(-1);
  if (asked.length === 0) return turns;
  if (last?.role === 'assistant') return [...turns.slice(0, -1), { ...last, partial: true }];
  for (const [name, value] of asked) native.push(nativePart('chat', name, value));
  return turns;
}

/** Changes what clients of compatible servers write otherwise than OpenAI, in place. */
function respell(body: Json): void {
  const { tool_choice: choice, response_format: format, messages } = body;
  for (const part of objectsOf(messages).flatMap(({ content }) => objectsOf(content))) {
    // Of Mistral, as its choice of a tool.
    const { image_url: url } = part;
    if (typeof url === 'string') Object.assign(part, { image_url: { url } });
  }
  // Of Together.
  if (isObject(format) && format['type'] === 'json_schema' && isObject(format['schema']))
    Object.assign(format, { json_schema: format['json_schema'] ?? { schema: format['schema'] } });
  if (choice === 'any') Object.assign(body, { tool_choice: 'required' });
}

/** @param address with the model, of Azure's clients, whose bodies need not have it */
export function decodeRequest(input: unknown, address?: RequestAddress): TextRequest {
  const model = address?.model ?? null;
  const named = model !== null && isObject(input) ? { ...input, model } : input;
  if (isObject(named)) respell(named);
  const given: ChatRequest = checkedBody(fields.schema, named);
  const body = usesFunctions(given) ? withTools(given) : given;
  const hasFunctions = (given.functions?.length ?? 0) > 0;
  const findings: Findings = { native: [], advice: [] };
  collectRest('chat', fields, body, '', findings);
  if (body.stream_options) {
    collectRest('chat', streamOptions, body.stream_options, 'stream_options', findings);
  }
  const tools = (body.tools ?? []) as readonly Json[];
  return Object.assign(fields.decodeSettings(body), {
    dialect: 'chat',
    body,
    model: body.model,
    stream: body.stream === true,
    includeUsage: body.stream === true && body.stream_options?.include_usage === true,
    ...(hasFunctions && { hasFunctions }),
    turns: continuedTurns(body, decodeTurns(body.messages, findings), findings),
    tools: decodeTools(tools, hasFunctions ? 'functions' : 'tools', findings),
    toolChoice: toolChoiceOf(body.tool_choice),
    maxOutputTokens: maxOutputTokensOf(body),
    topK: topKOf(body),
    stop: stopOf(body),
    format: formatOf(body.response_format),
    reasoning: reasoningOf(body),
    native: findings.native,
    advice: findings.advice,
    endUser: openaiEndUser(body),
  });
}

/** Whether a request speaks of functions, which OpenAI has replaced with tools. */
function usesFunctions({ functions, function_call, messages }: ChatRequest): boolean {
  if (functions != null || function_call != null) return true;
  return messages.some(
    (message) => message.role === 'function' || (message as Json)['function_call'] != null,
  );
}

/**
 * The same request with tools in place of functions.
 *
 * @throws Failure invalid_request for a request with both, or with a result that no call precedes
 */
function withTools(body: ChatRequest): ChatRequest {
  const { functions, function_call: choice, ...rest } = body;
  for (const [former, name] of [
    ['functions', 'tools'],
    ['function_call', 'tool_choice'],
  ] as const) {
    if (body[former] != null && body[name] != null) {
      throw invalid(former, `expected either ${former} or ${name}, received both`);
    }
  }
  return {
    ...rest,
    messages: messagesWithCalls(body.messages as readonly Json[]) as ChatRequest['messages'],
    ...(functions != null &&
      functions.length > 0 && {
        tools: functions.map((own) => ({ type: 'function', function: own })),
        // A message has one function call at most.
        parallel_tool_calls: false,
      }),
    ...(choice != null && {
      tool_choice:
        typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.name } },
    }),
  } as ChatRequest;
}

/** The messages with identifiers for their calls, which function calls do not have. */
function messagesWithCalls(messages: readonly Json[]): readonly Json[] {
  /** The last call of each function that has no result yet. */
  const open = new Map<string, string>();
  return messages.map((message, index) => {
    const { function_call: call, ...rest } = message;
    if (message['role'] === 'function') {
      const { name, ...result } = rest;
      const id = open.get(textOf(name));
      if (id === undefined) {
        const path = `messages[${index}].name`;
        throw invalid(path, 'expected the name of a function that the message before it calls');
      }
      open.delete(textOf(name));
      return { ...result, role: 'tool', content: result['content'] ?? '', tool_call_id: id };
    }
    if (message['role'] !== 'assistant' || !isObject(call)) return message;
    if (message['tool_calls'] != null) {
      throw invalid(
        `messages[${index}].function_call`,
        'expected either function_call or tool_calls, received both',
      );
    }
    const id = `call_function_${index}`;
    open.set(textOf(call['name']), id);
    return { ...rest, tool_calls: [{ id, type: 'function', function: call }] };
  });
}
