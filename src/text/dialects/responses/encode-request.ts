import { isObject, textOf } from '../../../schema/untrusted.ts';
import type {
  Grammar,
  Json,
  NativePart,
  ResponseFormat,
  TextRequest,
  Tool,
  ToolChoice,
} from '../../canonical/canonical.ts';
import { callIdFromWire } from '../calls.ts';
import type { Target } from '../dialect.ts';
import { endUserOnWire, MAX_OPENAI_USER } from '../end-user.ts';
import { nativeValue } from '../native-parts.ts';
import { encodeJsonSchema, SHARED_LABELS } from '../openai-fields.ts';
import { isWrapped } from '../reasoning-signature.ts';
import { dialectNamed } from '../registry.ts';
import { refuseNativeFields, refuseSettings, unsupportedSetting } from '../request-errors.ts';
import { nameOnWire } from '../tool-names.ts';
import { encodeTurns, reasoningItem } from './encode-turns.ts';
import { fields } from './fields.ts';
import { OWN_REASONING } from './reasoning.ts';

const OWN = 'responses';

function encodeTool(tool: Tool | NativePart): unknown {
  if (tool.type === 'native') return nativeValue(tool, OWN, 'tool');
  if (tool.textInput) return encodeCustomTool(tool, tool.textInput.grammar);
  return {
    type: 'function',
    name: nameOnWire(tool.name),
    ...(tool.description !== null && { description: tool.description }),
    parameters: tool.parameters,
    // OpenAI's default is true, which changes the schema.
    strict: tool.strict ?? false,
  };
}

function encodeCustomTool({ name, description }: Tool, grammar: Grammar | null): Json {
  return {
    type: 'custom',
    name: nameOnWire(name),
    ...(description !== null && { description }),
    ...(grammar !== null && {
      format: { type: 'grammar', syntax: grammar.syntax, definition: grammar.definition },
    }),
  };
}

function encodeToolChoice(request: TextRequest, choice: ToolChoice): unknown {
  const named = (name: string) => {
    const tool = request.tools.find((one) => one.type === 'tool' && one.name === name);
    const isCustom = tool?.type === 'tool' && tool.textInput !== undefined;
    return { type: isCustom ? 'custom' : 'function', name: nameOnWire(name) };
  };
  switch (choice.type) {
    case 'native':
      if (choice.dialect === OWN) return choice.value;
      throw unsupportedSetting(request, 'toolChoice', OWN);
    case 'tool':
      return named(choice.name);
    case 'allowed': {
      const allowed = choice.tools.map(({ type, name, value }) =>
        type === 'tool' ? named(name) : value,
      );
      return { type: 'allowed_tools', mode: choice.mode, tools: allowed };
    }
    default:
      return choice.type;
  }
}

function encodeFormat(format: ResponseFormat): Json {
  if (format.type !== 'json-schema') return { type: format.type.replace('-', '_') };
  return { type: 'json_schema', ...encodeJsonSchema(format, 'answer') };
}

/** The body for a request of another dialect. */
function translate(request: TextRequest, target: Target): Json {
  refuseSettings(request, OWN);
  refuseNativeFields(request, OWN);
  const { format, verbosity } = request;
  const include = [
    // Models without reasoning refuse it.
    ...(target.reasons ? ['reasoning.encrypted_content'] : []),
    ...(request.logprobs === true ? ['message.output_text.logprobs'] : []),
  ];
  const shared: Record<string, unknown> = {};
  if (dialectNamed(request.dialect).usesOpenaiFields) {
    for (const name of ['metadata', ...SHARED_LABELS]) {
      if ((request.body[name] ?? null) !== null) shared[name] = request.body[name];
    }
  } else {
    const user = endUserOnWire(request, MAX_OPENAI_USER);
    if (user !== null) shared['user'] = user;
  }
  return {
    model: target.model,
    input: encodeTurns(request, target),
    ...(request.tools.length > 0 && { tools: request.tools.map(encodeTool) }),
    ...(request.toolChoice !== null && {
      tool_choice: encodeToolChoice(request, request.toolChoice),
    }),
    ...fields.encodeSettings(request),
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
    // Each request has the whole conversation, so that the provider need not store it.
    store: false,
    ...(request.stream && { stream: true }),
  };
}

/** The client's items without reasoning of other providers, with tool names that providers accept. */
function replayedInput(request: TextRequest, target: Target): unknown {
  const { input } = request.body;
  if (!Array.isArray(input)) return input;
  // Each item of reasoning is one part.
  const reasonings = request.turns
    .flatMap(({ parts }) => parts.filter((part) => part.type === 'reasoning'))
    .values();
  return (input as readonly Json[]).flatMap((item) => {
    const { type, call_id: id, name } = item;
    if (type === 'function_call' || type === 'function_call_output') {
      return [
        {
          ...item,
          // A provider that stores conversations knows its own call ids.
          ...(typeof id === 'string' && { call_id: callIdFromWire(id) }),
          ...(type === 'function_call' && { name: nameOnWire(String(name)) }),
        },
      ];
    }
    if (type !== 'reasoning') return [item];
    const reasoning = reasonings.next().value;
    if (!reasoning) return [];
    const encrypted = item['encrypted_content'];
    if (typeof encrypted === 'string' && encrypted !== '') {
      const own = reasoningItem(
        reasoning,
        target,
        !isWrapped(encrypted) || request.body['store'] !== false,
      );
      return own ? [own] : [];
    }
    return textOf(item['id']).startsWith(OWN_REASONING) ? [] : [item];
  });
}

function replayedToolChoice(value: unknown): unknown {
  if (!isObject(value) || value['type'] !== 'function') return value;
  return { ...value, name: nameOnWire(String(value['name'])) };
}

/** The body of a responses client, with the settings that the model's rules changed. */
function replay(request: TextRequest, target: Target): Json {
  const { body, reasoning } = request;
  const replayed: Record<string, unknown> = {
    ...body,
    model: target.model,
    input: replayedInput(request, target),
  };
  fields.encodeSettings(request, replayed);
  if (isObject(body['reasoning']) || reasoning !== null) {
    const { effort: _, ...others } = isObject(body['reasoning']) ? body['reasoning'] : {};
    const effort = reasoning?.effort ?? null;
    const changed = effort === null ? others : { ...others, effort };
    if (Object.keys(changed).length > 0) replayed['reasoning'] = changed;
    else delete replayed['reasoning'];
  }
  if (Array.isArray(body['tools'])) {
    replayed['tools'] = (body['tools'] as readonly Json[]).map((tool) =>
      tool['type'] === 'function' ? { ...tool, name: nameOnWire(String(tool['name'])) } : tool,
    );
  }
  if (body['tool_choice'] !== undefined)
    replayed['tool_choice'] = replayedToolChoice(body['tool_choice']);
  return replayed;
}

/**
 * A request for a responses upstream.
 *
 * @throws Failure invalid_request for a field that responses does not have; `param` names it
 */
export function encodeRequest(request: TextRequest, target: Target): Json {
  return request.dialect === OWN ? replay(request, target) : translate(request, target);
}

/** Effort and summary. A client that expects to read reasoning gets a summary. */
function encodeReasoning({ dialect, reasoning }: TextRequest): Json {
  if (reasoning === null) return {};
  const { effort } = reasoning;
  const { isShown } = dialectNamed(dialect).reasoning;
  const isRead = isShown && effort !== null && effort !== 'none';
  const summary = reasoning.summary ?? (isRead ? 'auto' : null);
  if (effort === null && summary === null) return {};
  return {
    reasoning: { ...(effort !== null && { effort }), ...(summary !== null && { summary }) },
  };
}
