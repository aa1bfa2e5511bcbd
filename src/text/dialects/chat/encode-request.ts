import type { Json, ResponseFormat, TextRequest } from '../../canonical/canonical.ts';
import type { Target } from '../dialect.ts';
import { endUserOnWire, MAX_OPENAI_USER } from '../end-user.ts';
import { encodeJsonSchema, SHARED_LABELS } from '../openai-fields.ts';
import { dialectNamed } from '../registry.ts';
import { refuseNativeFields, refuseSettings, unsupportedSetting } from '../request-errors.ts';
import { nameOnWire } from '../tool-names.ts';
import { encodeTool, encodeTurns, reencodeMessages, reencodeNamed } from './encode-turns.ts';
import { fields } from './fields.ts';

/** Properties that the settings of a request replace. */
const REPLACED = Object.entries(fields.settings).flatMap(([setting, names]) =>
  setting === 'topK' ? [] : names,
);

function labelsOf(request: TextRequest): Json {
  const { dialect, body, advice } = request;
  if (!dialectNamed(dialect).usesOpenaiFields) {
    const user = endUserOnWire(request, MAX_OPENAI_USER);
    return user === null ? {} : { user };
  }
  // OpenAI accepts `metadata` only with `store`.
  const given = SHARED_LABELS.filter((name) => advice.includes(name));
  return Object.fromEntries(given.map((name) => [name, body[name]]));
}

function encodeFormat(format: ResponseFormat): Json {
  if (format.type !== 'json-schema') {
    return { type: format.type === 'text' ? 'text' : 'json_object' };
  }
  return { type: 'json_schema', json_schema: encodeJsonSchema(format, 'response') };
}

function encodeToolChoice(request: TextRequest): unknown {
  const { toolChoice, dialect, body } = request;
  if (toolChoice === null) return undefined;
  if (dialect === 'chat') {
    const own = body['tool_choice'];
    return typeof own === 'object' ? reencodeNamed(own as Json) : own;
  }
  if (toolChoice.type === 'native') throw unsupportedSetting(request, 'toolChoice', 'chat');
  if (toolChoice.type !== 'tool') return toolChoice.type;
  return { type: 'function', function: { name: nameOnWire(toolChoice.name) } };
}

/** The client's name of its token limit. Models with fixed reasoning know only the newer name. */
function limitName({ dialect, body }: TextRequest, target: Target): string {
  const isFormerName = body['max_tokens'] != null && body['max_completion_tokens'] == null;
  return dialect === 'chat' && isFormerName && target.rules === null
    ? 'max_tokens'
    : 'max_completion_tokens';
}

function encodeSettings(request: TextRequest, target: Target): Record<string, unknown> {
  const settings = fields.encodeSettings(request);
  delete settings['parallel_tool_calls'];
  if (request.stop !== null) settings['stop'] = request.stop;
  const { maxOutputTokens, format, reasoning, dialect, body } = request;
  if (maxOutputTokens !== null) settings[limitName(request, target)] = maxOutputTokens;
  if (reasoning !== null && reasoning.effort !== null) {
    settings['reasoning_effort'] = reasoning.effort;
  }
  if (format !== null) {
    settings['response_format'] =
      dialect === 'chat' ? body['response_format'] : encodeFormat(format);
  }
  // OpenAI refuses a tool choice without tools.
  const hasTools = request.tools.length > 0 || dialect === 'chat';
  const choice = encodeToolChoice(request);
  if (choice !== undefined && hasTools) settings['tool_choice'] = choice;
  if (request.parallelToolCalls !== null && hasTools) {
    settings['parallel_tool_calls'] = request.parallelToolCalls;
  }
  return settings;
}

function streamFields({ stream, dialect, body }: TextRequest): Json {
  if (!stream) return {};
  const options = dialect === 'chat' ? (body['stream_options'] as Json | null) : null;
  return { stream: true, stream_options: { ...options, include_usage: true } };
}

function reencode(request: TextRequest, target: Target): Json {
  const body: Record<string, unknown> = { ...request.body, model: target.model };
  for (const name of REPLACED) delete body[name];
  body['messages'] = reencodeMessages(request, target);
  if (Array.isArray(body['tools'])) body['tools'] = body['tools'].map(reencodeNamed);
  return { ...body, ...encodeSettings(request, target), ...streamFields(request) };
}

/** A request for a chat upstream. */
export function encodeRequest(request: TextRequest, target: Target): Json {
  if (request.dialect === 'chat') return reencode(request, target);
  refuseNativeFields(request, 'chat');
  refuseSettings(request, 'chat', ['topK']);
  return {
    model: target.model,
    messages: encodeTurns(request, target),
    ...(request.tools.length > 0 && { tools: request.tools.map(encodeTool) }),
    ...encodeSettings(request, target),
    ...labelsOf(request),
    ...streamFields(request),
  };
}
