import { checkedBody } from '../../../schema/body.ts';
import { nonEmptyTextOf } from '../../../schema/untrusted.ts';
import type {
  Json,
  ReasoningRequest,
  RequestSettings,
  ResponseFormat,
  TextRequest,
  ToolChoice,
} from '../../canonical/canonical.ts';
import { collectRest, type Findings, nativePart } from '../native-parts.ts';
import { decodeTurns, toolOf } from './decode-turns.ts';
import { refuseThread } from './errors.ts';
import { fields, type MessagesRequest } from './fields.ts';

/** @throws Failure invalid_request, `param` naming the field by its path */
export function decodeRequest(value: unknown): TextRequest {
  const body: MessagesRequest = checkedBody(fields.schema, value);
  refuseThread(body);
  const findings: Findings = { native: [], advice: [] };
  collectTop(body, findings);
  const turns = decodeTurns(body, findings);
  const { native, advice } = findings;
  const userId = nonEmptyTextOf(body.metadata?.user_id);
  // Spreading this many properties takes ten times as long.
  return Object.assign(settingsOf(body), {
    dialect: 'messages' as const,
    body: body as Json,
    model: body.model,
    stream: body.stream === true,
    includeUsage: true,
    turns,
    tools: (body.tools ?? []).flatMap(
      (tool, index) => toolOf(tool as Json, `tools[${index}]`, advice) ?? [],
    ),
    native,
    advice,
    endUser: userId === null ? null : { path: 'metadata', id: userId },
  });
}

const OWN = 'messages';

type Choice = NonNullable<MessagesRequest['tool_choice']>;

/** The single values of a request. */
export function settingsOf(body: MessagesRequest): RequestSettings {
  const { tool_choice: choice } = body;
  return Object.assign(fields.decodeSettings(body), {
    toolChoice: choice ? toolChoiceOf(choice) : null,
    parallelToolCalls: choice ? parallelOf(choice) : null,
    format: formatOf(body),
    reasoning: reasoningOf(body),
  });
}

function toolChoiceOf(choice: Choice): ToolChoice {
  switch (choice.type) {
    case 'any':
      return { type: 'required' };
    case 'tool':
      return { type: 'tool', name: choice.name };
    default:
      return { type: choice.type };
  }
}

function parallelOf(choice: Choice): boolean | null {
  if (choice.type === 'none') return null;
  const disabled = choice.disable_parallel_tool_use;
  return disabled === undefined || disabled === null ? null : !disabled;
}

function formatOf({
  output_config,
  output_format: former,
}: MessagesRequest): ResponseFormat | null {
  const format = output_config?.format ?? former;
  if (!format) return null;
  return {
    type: 'json-schema',
    name: null,
    description: null,
    schema: format.schema as Json,
    strict: null,
  };
}

function reasoningOf({ thinking, output_config }: MessagesRequest): ReasoningRequest | null {
  const effort = output_config?.effort ?? null;
  switch (thinking?.type) {
    case 'enabled':
      return { effort, budget: thinking.budget_tokens, summary: null };
    case 'disabled':
      return { effort: 'none', budget: null, summary: null };
    case 'adaptive':
      return { effort, budget: null, summary: null };
    default:
      return effort === null ? null : { effort, budget: null, summary: null };
  }
}

const thinkingFields = fields.within('thinking')!;
const outputFields = fields.within('output_config')!;

/** Collects the properties at the top of a request that the canonical request does not hold. */
function collectTop(body: MessagesRequest, findings: Findings): void {
  collectRest(OWN, fields, body, '', findings);
  const { thinking, output_config: output } = body;
  if (thinking) collectRest(OWN, thinkingFields, thinking, 'thinking', findings);
  if (thinking?.type === 'between_tools') {
    findings.native.push(nativePart(OWN, 'thinking', thinking));
  }
  if (output) collectRest(OWN, outputFields, output, 'output_config', findings);
  if (thinking?.type === 'disabled' && output?.effort) {
    findings.advice.push('output_config.effort');
  }
}
