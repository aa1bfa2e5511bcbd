import { isObject, textOf } from '../../../schema/untrusted.ts';
import type {
  Json,
  NativePart,
  ReasoningPart,
  ResponseFormat,
  TextRequest,
  Tool,
  ToolChoice,
} from '../../canonical.ts';
import { callIdFromWire } from '../call-ids.ts';
import type { Target } from '../dialect.ts';
import { SHARED_LABELS } from '../labels.ts';
import { isWrapped } from '../reasoning-signature.ts';
import { refuseNative, refuseSettings, untranslatable } from '../request-errors.ts';
import { pathOf } from '../request-settings.ts';
import { nameOnWire } from '../tool-names.ts';
import { encodeTurns, reasoningItem } from './encode-turns.ts';
import { OWN_REASONING } from './reasoning.ts';

const OWN = 'responses';

function encodeTool(tool: Tool | NativePart): unknown {
  if (tool.type === 'native') return tool.dialect === OWN ? tool.value : refuseNative(tool, OWN);
  return {
    type: 'function',
    name: nameOnWire(tool.name),
    ...(tool.description !== null && { description: tool.description }),
    parameters: tool.parameters,
    // Unsaid, it would be true, and the schema another than the caller's.
    strict: tool.strict ?? false,
  };
}

function encodeToolChoice(choice: ToolChoice): unknown {
  switch (choice.type) {
    case 'native':
      return choice.dialect === OWN ? choice.value : refuseNative(choice, OWN);
    case 'tool':
      return { type: 'function', name: nameOnWire(choice.name) };
    default:
      return choice.type;
  }
}

function encodeFormat(format: ResponseFormat): Json {
  if (format.type !== 'json-schema') return { type: format.type.replace('-', '_') };
  return {
    type: 'json_schema',
    // A name is a must here, and tells the model little.
    name: format.name ?? 'answer',
    ...(format.description !== null && { description: format.description }),
    schema: format.schema,
    ...(format.strict !== null && { strict: format.strict }),
  };
}

/** Refuses what this format has no word for; what says what is so without it may be said. */
function refuseUnsayable(request: TextRequest): void {
  const refuse = (setting: Parameters<typeof pathOf>[1]): never => {
    throw untranslatable(pathOf(request, setting), OWN);
  };
  refuseSettings(request, OWN, ['seed', 'topK']);
  if ((request.n ?? 1) > 1) refuse('n');
  if ((request.stop ?? []).length > 0) refuse('stop');
  if ((request.frequencyPenalty ?? 0) !== 0) refuse('frequencyPenalty');
  if ((request.presencePenalty ?? 0) !== 0) refuse('presencePenalty');
  if (Object.keys(request.logitBias ?? {}).length > 0) refuse('logitBias');
  const foreign = request.native.find((part) => part.dialect !== OWN);
  if (foreign) refuseNative(foreign, OWN);
}

/** From any other format. */
function translate(request: TextRequest, target: Target): Json {
  refuseUnsayable(request);
  const { format, verbosity } = request;
  const include = [
    // What does not reason refuses to be asked for it.
    ...(target.reasons ? ['reasoning.encrypted_content'] : []),
    ...(request.logprobs === true ? ['message.output_text.logprobs'] : []),
  ];
  const shared: Record<string, unknown> = {};
  if (request.dialect === 'chat') {
    for (const name of ['metadata', ...SHARED_LABELS]) {
      if ((request.body[name] ?? null) !== null) shared[name] = request.body[name];
    }
  }
  return {
    model: target.model,
    input: encodeTurns(request, target),
    ...(request.tools.length > 0 && { tools: request.tools.map(encodeTool) }),
    ...(request.toolChoice !== null && { tool_choice: encodeToolChoice(request.toolChoice) }),
    ...(request.parallelToolCalls !== null && {
      parallel_tool_calls: request.parallelToolCalls,
    }),
    ...(request.maxOutputTokens !== null && { max_output_tokens: request.maxOutputTokens }),
    ...(request.temperature !== null && { temperature: request.temperature }),
    ...(request.topP !== null && { top_p: request.topP }),
    ...(request.topLogprobs !== null && { top_logprobs: request.topLogprobs }),
    ...((format !== null || verbosity !== null) && {
      text: {
        ...(format !== null && { format: encodeFormat(format) }),
        ...(verbosity !== null && { verbosity }),
      },
    }),
    ...encodeReasoning(request),
    ...(include.length > 0 && { include }),
    ...shared,
    // What comes back holds everything, so that nothing need be kept upstream.
    store: false,
    ...(request.stream && { stream: true }),
  };
}

/** The client's own items, with what is not for this provider left out and long names shortened. */
function ownInput(request: TextRequest, target: Target): unknown {
  const { input } = request.body;
  if (!Array.isArray(input)) return input;
  const thoughts = new Map<string, ReasoningPart>();
  for (const { parts } of request.turns) {
    for (const part of parts) if (part.type === 'reasoning') thoughts.set(part.path, part);
  }
  return (input as readonly Json[]).flatMap((item, index) => {
    const { type, call_id: id, name } = item;
    if (type === 'function_call' || type === 'function_call_output') {
      return [
        {
          ...item,
          // A provider that keeps conversations knows a call by the identifier that it gave.
          ...(typeof id === 'string' && { call_id: callIdFromWire(id) }),
          ...(type === 'function_call' && { name: nameOnWire(String(name)) }),
        },
      ];
    }
    if (type !== 'reasoning') return [item];
    const thought = thoughts.get(`input[${index}]`);
    if (!thought) return [];
    const encrypted = item['encrypted_content'];
    if (typeof encrypted === 'string' && encrypted !== '') {
      const own = reasoningItem(
        thought,
        target,
        !isWrapped(encrypted) || request.body['store'] !== false,
      );
      return own ? [own] : [];
    }
    return textOf(item['id']).startsWith(OWN_REASONING) ? [] : [item];
  });
}

function ownToolChoice(value: unknown): unknown {
  if (!isObject(value) || value['type'] !== 'function') return value;
  return { ...value, name: nameOnWire(String(value['name'])) };
}

/** From the same format: the client's own body, with what the gateway's rules made of it. */
function replay(request: TextRequest, target: Target): Json {
  const { body, reasoning } = request;
  const written: Record<string, unknown> = {
    ...body,
    model: target.model,
    input: ownInput(request, target),
  };
  const put = (name: string, value: unknown) => {
    if (value !== null) written[name] = value;
    else delete written[name];
  };
  put('max_output_tokens', request.maxOutputTokens);
  put('temperature', request.temperature);
  put('top_p', request.topP);
  put('parallel_tool_calls', request.parallelToolCalls);
  if (isObject(body['reasoning']) || reasoning !== null) {
    const { effort: _, ...others } = isObject(body['reasoning']) ? body['reasoning'] : {};
    const effort = reasoning?.effort ?? null;
    const said = effort === null ? others : { ...others, effort };
    put('reasoning', Object.keys(said).length > 0 ? said : null);
  }
  if (Array.isArray(body['tools'])) {
    written['tools'] = (body['tools'] as readonly Json[]).map((tool) =>
      tool['type'] === 'function' ? { ...tool, name: nameOnWire(String(tool['name'])) } : tool,
    );
  }
  if (body['tool_choice'] !== undefined)
    written['tool_choice'] = ownToolChoice(body['tool_choice']);
  return written;
}

/**
 * A request for an upstream of the responses format.
 *
 * @throws Failure invalid_request where the format cannot say it; `param` names the client's field
 */
export function encodeRequest(request: TextRequest, target: Target): Json {
  return request.dialect === OWN ? replay(request, target) : translate(request, target);
}

/** How much to reason, and how that is told: who asks for thinking in messages wants to read it. */
function encodeReasoning({ dialect, reasoning }: TextRequest): Json {
  if (reasoning === null) return {};
  const { effort } = reasoning;
  const thinks = dialect === 'messages' && effort !== null && effort !== 'none';
  const summary = reasoning.summary ?? (thinks ? 'auto' : null);
  if (effort === null && summary === null) return {};
  return {
    reasoning: { ...(effort !== null && { effort }), ...(summary !== null && { summary }) },
  };
}
