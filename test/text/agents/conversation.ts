import type { FormatName } from '../mock-upstream.ts';

// biome-ignore lint/suspicious/noExplicitAny: bodies in one of three formats
type Loose = any;

/** A tool of a request, independent of its format. */
export interface OfferedTool {
  readonly kind: 'function' | 'custom';
  readonly name: string;
  readonly namespace?: string;
  readonly parameters: Readonly<Record<string, { readonly type?: unknown }>>;
  readonly required: readonly string[];
}

/** What a model reads of a request, independent of its format. */
export interface Conversation {
  readonly tools: readonly OfferedTool[];
  /** All texts of the user. */
  readonly task: string;
  /** Turns of the model that called tools. */
  readonly rounds: number;
  /** Texts of the tools' results, in their order. */
  readonly results: readonly string[];
  /** Whether the model has answered without a call. */
  readonly isAnswered: boolean;
  /** Whether the request asks for reasoning. */
  readonly isReasoning: boolean;
  /** Whether an answer may have several calls. */
  readonly isParallel: boolean;
}

type Turn =
  | { readonly user: string }
  | { readonly answer: string }
  | { readonly call: string }
  | { readonly result: string };

function textOf(content: Loose): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part) => part.text ?? '').join('\n');
}

function chatTurns({ messages }: Loose): Turn[] {
  return messages.flatMap((message: Loose): Turn[] => {
    if (message.role === 'user') return [{ user: textOf(message.content) }];
    if (message.role === 'tool') return [{ result: textOf(message.content) }];
    if (message.role !== 'assistant') return [];
    if (!message.tool_calls?.length) return [{ answer: textOf(message.content) }];
    return message.tool_calls.map(({ id }: Loose) => ({ call: id }));
  });
}

function responsesTurns({ input }: Loose): Turn[] {
  if (typeof input === 'string') return [{ user: input }];
  return input.flatMap((item: Loose): Turn[] => {
    if (item.type === 'function_call' || item.type === 'custom_tool_call') {
      return [{ call: item.call_id }];
    }
    if (item.type === 'function_call_output' || item.type === 'custom_tool_call_output') {
      return [{ result: textOf(item.output) }];
    }
    if (item.role === 'user') return [{ user: textOf(item.content) }];
    if (item.role === 'assistant') return [{ answer: textOf(item.content) }];
    return [];
  });
}

function messagesTurns({ messages }: Loose): Turn[] {
  return messages.flatMap(({ role, content }: Loose): Turn[] => {
    if (role === 'system') return [];
    if (typeof content === 'string')
      return [role === 'user' ? { user: content } : { answer: content }];
    const calls = content.filter(({ type }: Loose) => type === 'tool_use');
    if (calls.length > 0) return calls.map(({ id }: Loose) => ({ call: id }));
    const results = content.filter(({ type }: Loose) => type === 'tool_result');
    if (results.length > 0)
      return results.map((block: Loose) => ({ result: textOf(block.content) }));
    return [role === 'user' ? { user: textOf(content) } : { answer: textOf(content) }];
  });
}

function geminiTurns({ contents }: Loose): Turn[] {
  return contents.flatMap(({ role, parts }: Loose): Turn[] => {
    const calls = parts.filter((part: Loose) => part.functionCall);
    if (calls.length > 0) return calls.map((part: Loose) => ({ call: part.functionCall.name }));
    const results = parts.filter((part: Loose) => part.functionResponse);
    if (results.length > 0) {
      return results.map((part: Loose) => ({
        result: Object.values(part.functionResponse.response).join('\n'),
      }));
    }
    return [role === 'user' ? { user: textOf(parts) } : { answer: textOf(parts) }];
  });
}

const TURNS = {
  chat: chatTurns,
  responses: responsesTurns,
  messages: messagesTurns,
  gemini: geminiTurns,
};

function toolsOf(body: Loose): OfferedTool[] {
  return (body.tools ?? []).flatMap((tool: Loose): OfferedTool[] => {
    if (tool.functionDeclarations) {
      return tool.functionDeclarations.flatMap((declared: Loose) => toolsOf({ tools: [declared] }));
    }
    if (tool.type === 'namespace') {
      return toolsOf(tool).map((inner) => ({ ...inner, namespace: tool.name }));
    }
    if (tool.type === 'custom' && !tool.input_schema) {
      const { name } = tool.custom ?? tool;
      return [{ kind: 'custom', name, parameters: {}, required: [] }];
    }
    const { name, parameters, input_schema, parametersJsonSchema } = tool.function ?? tool;
    const schema = parameters ?? input_schema ?? parametersJsonSchema;
    // Hosted tools have no schema.
    if (schema === undefined) return [];
    const { properties = {}, required = [] } = schema;
    return [{ kind: 'function', name, parameters: properties, required }];
  });
}

/** Items of responses that add tools to a request. */
function addedTo({ input }: Loose): Loose[] {
  return Array.isArray(input) ? input.filter(({ type }) => type === 'additional_tools') : [];
}

export function readConversation(format: FormatName, body: Loose): Conversation {
  const turns = TURNS[format](body);
  // Agents may put the text of a turn before its calls or after them.
  const last = turns.findLast((turn) => !('user' in turn));
  const starts = turns.filter((turn, at) => 'call' in turn && !('call' in (turns[at - 1] ?? {})));
  return {
    tools: [body, ...(format === 'responses' ? addedTo(body) : [])].flatMap(toolsOf),
    task: turns.flatMap((turn) => ('user' in turn ? [turn.user] : [])).join('\n'),
    rounds: starts.length,
    results: turns.flatMap((turn) => ('result' in turn ? [turn.result] : [])),
    isAnswered: last !== undefined && 'answer' in last,
    isReasoning:
      body.thinking?.type === 'enabled' ||
      body.thinking?.type === 'adaptive' ||
      body.reasoning !== undefined ||
      body.reasoning_effort !== undefined,
    isParallel:
      body.parallel_tool_calls !== false && body.tool_choice?.disable_parallel_tool_use !== true,
  };
}
