import type { Effort } from '../../../config/settings/models.ts';
import { checkedBody } from '../../../schema/body.ts';
import { isObject } from '../../../schema/untrusted.ts';
import {
  functionOf,
  type Json,
  type ReasoningRequest,
  type ResponseFormat,
  type TextRequest,
  type Tool,
} from '../../canonical/canonical.ts';
import { openaiEndUser } from '../end-user.ts';
import { collectRest, type Findings, nativePart } from '../native-parts.ts';
import { decodeJsonSchema } from '../openai-fields.ts';
import { decodeTools, toolChoiceOf } from './decode-tools.ts';
import { decodeTurns } from './decode-turns.ts';
import { fields } from './fields.ts';
import { functionTool } from './tool-fields.ts';
import { addedTools } from './tool-search.ts';

const OWN = 'responses';
const LOGPROBS = 'message.output_text.logprobs';

const TABLES = ['reasoning', 'text', 'stream_options'].map(
  (name) => [name, fields.within(name)!] as const,
);

/** Collects the properties that the canonical request does not hold. */
function collectAll(body: Json, findings: Findings): void {
  collectRest(OWN, fields, body, '', findings);
  for (const [name, table] of TABLES) {
    const value = body[name];
    if (isObject(value)) collectRest(OWN, table, value, name, findings);
  }
}

function decodeTool(value: Json, path: string, findings: Findings): Tool {
  collectRest(OWN, functionTool, value, path, findings);
  return functionOf(path, value, value['output_schema']);
}

/** The tools of a request, and those that items of its input add. */
function allTools(tools: readonly Json[], input: unknown, findings: Findings) {
  const decoding = {
    decodeFunction: (tool: Json, path: string) => decodeTool(tool, path, findings),
    advice: findings.advice,
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

function decodeFormat(value: unknown, findings: Findings): ResponseFormat | null {
  if (!isObject(value)) return null;
  if (value['type'] === 'text') return { type: 'text' };
  // Clients of chat completions move it here as it is.
  if (value['type'] === 'json_object' && isObject(value['schema']))
    return decodeJsonSchema({ name: 'response', schema: value['schema'] });
  if (value['type'] === 'json_object') return { type: 'json-object' };
  if (value['type'] === 'json_schema') return decodeJsonSchema(value);
  findings.native.push(nativePart(OWN, 'text.format', value));
  return null;
}

function decodeReasoning(value: unknown): ReasoningRequest | null {
  if (!isObject(value)) return null;
  const { effort, summary, generate_summary: former } = value;
  if ((effort ?? summary ?? former ?? null) === null) return null;
  return {
    effort: (effort ?? null) as Effort | null,
    budget: null,
    summary: (summary ?? former ?? null) as string | null,
  };
}

/** Whether the encoders request a kind of further output in any case. */
const ALWAYS_INCLUDED = 'reasoning.encrypted_content';

/**
 * Decodes a request of a responses client.
 *
 * @throws Failure invalid_request, `param` naming the field by its path
 */
export function decodeRequest(value: unknown): TextRequest {
  const body: Json = checkedBody(fields.schema, value);
  const findings: Findings = { native: [], advice: [] };
  collectAll(body, findings);
  const tools = (body['tools'] ?? []) as readonly Json[];
  const include = (body['include'] ?? []) as readonly string[];
  include.forEach((included, index) => {
    // Other values belong to native tools, which are refused by themselves.
    if (included !== LOGPROBS && included !== ALWAYS_INCLUDED)
      findings.advice.push(`include[${index}]`);
  });
  const text = isObject(body['text']) ? body['text'] : {};
  const topLogprobs = (body['top_logprobs'] ?? null) as number | null;
  const logprobs = include.includes(LOGPROBS) || (topLogprobs ?? 0) > 0;
  const reasoning = decodeReasoning(body['reasoning']);
  const format = decodeFormat(text['format'], findings);
  const turns = decodeTurns(body['instructions'], body['input'], findings);
  return Object.assign(fields.decodeSettings(body), {
    dialect: OWN,
    body,
    model: body['model'] as string,
    stream: body['stream'] === true,
    includeUsage: true,
    turns,
    tools: allTools(tools, body['input'], findings),
    toolChoice: toolChoiceOf(body['tool_choice']),
    logprobs: logprobs ? true : null,
    topLogprobs: logprobs ? topLogprobs : null,
    format,
    verbosity: (text['verbosity'] ?? null) as string | null,
    reasoning,
    native: findings.native,
    advice: findings.advice,
    endUser: openaiEndUser(body),
  });
}
