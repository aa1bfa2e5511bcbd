import { isObject, textOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';
import { invalid } from '../request-errors.ts';
import type { ChatRequest } from './fields.ts';

/** Whether a request speaks of functions, which OpenAI has replaced with tools. */
export function usesFunctions({ functions, function_call, messages }: ChatRequest): boolean {
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
export function withTools(body: ChatRequest): ChatRequest {
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
