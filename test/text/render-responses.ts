import {
  type Frame,
  piecesOf,
  responsesUsage,
  type Script,
  type Step,
  type Stop,
  stopOf,
} from './script.ts';

const ID = 'resp_upstream0001';
const CREATED = 1_770_000_000;

type Request = { readonly [key: string]: unknown };

const INCOMPLETE: Readonly<Partial<Record<Stop, string>>> = {
  length: 'max_output_tokens',
  refusal: 'content_filter',
};

const FAILED = { code: 'server_error', message: 'The upstream broke down midway' };

/** The response object with all the fields that OpenAI's has. */
function response(script: Script, request: Request, rest: object): object {
  return {
    id: ID,
    object: 'response',
    created_at: CREATED,
    status: 'in_progress',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: request['instructions'] ?? null,
    max_output_tokens: request['max_output_tokens'] ?? null,
    max_tool_calls: null,
    model: script.model ?? request['model'],
    output: [],
    parallel_tool_calls: request['parallel_tool_calls'] ?? true,
    previous_response_id: request['previous_response_id'] ?? null,
    prompt_cache_key: null,
    reasoning: request['reasoning'] ?? { effort: null, summary: null },
    safety_identifier: null,
    service_tier: 'auto',
    store: request['store'] ?? true,
    temperature: request['temperature'] ?? 1,
    text: request['text'] ?? { format: { type: 'text' }, verbosity: 'medium' },
    tool_choice: request['tool_choice'] ?? 'auto',
    tools: request['tools'] ?? [],
    top_logprobs: 0,
    top_p: request['top_p'] ?? 1,
    truncation: 'disabled',
    usage: null,
    user: null,
    metadata: {},
    ...rest,
  };
}

function ending(script: Script): { status: string; incomplete_details: object | null } {
  const reason = INCOMPLETE[stopOf(script)];
  return reason === undefined
    ? { status: 'completed', incomplete_details: null }
    : { status: 'incomplete', incomplete_details: { reason } };
}

/** The output item of a step; null for none. */
function itemOf(step: Step, index: number, status = 'completed'): Record<string, unknown> | null {
  if ('reasoning' in step) {
    const summary = step.reasoning === '' ? [] : [{ type: 'summary_text', text: step.reasoning }];
    const id = `rs_upstream${index}`;
    return { id, type: 'reasoning', summary, encrypted_content: step.encrypted ?? null };
  }
  if ('text' in step || 'refusal' in step) {
    const part =
      'text' in step
        ? { type: 'output_text', annotations: [], logprobs: step.logprobs ?? [], text: step.text }
        : { type: 'refusal', refusal: step.refusal };
    return {
      id: `msg_upstream${index}`,
      type: 'message',
      status,
      role: 'assistant',
      content: [part],
    };
  }
  if ('call' in step) {
    return {
      id: `fc_upstream${index}`,
      type: 'function_call',
      status,
      call_id: step.id,
      name: step.call,
      arguments: step.arguments || '{}',
    };
  }
  if ('custom' in step) {
    return {
      id: `ctc_upstream${index}`,
      type: 'custom_tool_call',
      status,
      call_id: step.id,
      ...(step.namespace !== undefined && { namespace: step.namespace }),
      name: step.custom,
      input: step.input,
    };
  }
  return 'frames' in step && step.block !== undefined
    ? (step.block as Record<string, unknown>)
    : null;
}

/** The response, not streamed. */
export function responsesAnswer(script: Script, request: Request): object {
  const steps = (script.steps ?? []).filter((step) => itemOf(step, 0) !== null);
  const { status } = ending(script);
  return response(script, request, {
    ...ending(script),
    output: steps.map((step, index) =>
      itemOf(step, index, index === steps.length - 1 ? status : 'completed'),
    ),
    usage: script.usage ? responsesUsage(script.usage) : null,
  });
}

/** The events of responses, as OpenAI writes them. */
export function responsesFrames(script: Script, request: Request): Frame[] {
  const events: (Frame | { readonly type: string; readonly [key: string]: unknown })[] = [
    { type: 'response.created', response: response(script, request, {}) },
    { type: 'response.in_progress', response: response(script, request, {}) },
  ];
  const output: unknown[] = [];
  const steps = script.steps ?? [];
  const last = steps.findLastIndex((step) => itemOf(step, 0) !== null);
  steps.forEach((step, at) => {
    if ('frames' in step) {
      events.push(...(step.frames as { type: string }[]));
      if (step.block !== undefined) output.push(step.block);
      return;
    }
    const status = at === last ? ending(script).status : 'completed';
    const item = itemOf(step, output.length, status);
    if (item === null) {
      if (!('redacted' in step)) events.push(step as Frame);
      return;
    }
    const place = { output_index: output.length };
    const inside = { item_id: item['id'], ...place };
    const added = { type: 'response.output_item.added', ...place };
    if ('reasoning' in step) {
      events.push({ ...added, item: { ...item, summary: [] } });
      if (step.reasoning !== '') events.push(...summaryEvents(step, inside));
    } else if ('text' in step || 'refusal' in step) {
      events.push({ ...added, item: { ...item, status: 'in_progress', content: [] } });
      events.push(...partEvents(step, inside, (item['content'] as unknown[])[0]));
    } else if ('call' in step) {
      const done = { name: step.call, arguments: item['arguments'] };
      events.push({ ...added, item: { ...item, status: 'in_progress', arguments: '' } });
      if (step.late !== true) {
        for (const delta of piecesOf(String(item['arguments']), step.pieces)) {
          events.push({ type: 'response.function_call_arguments.delta', ...inside, delta });
        }
      }
      events.push({ type: 'response.function_call_arguments.done', ...inside, ...done });
    } else if ('custom' in step) {
      const { input } = step;
      events.push({ ...added, item: { ...item, status: 'in_progress', input: '' } });
      for (const delta of piecesOf(input, undefined)) {
        events.push({ type: 'response.custom_tool_call_input.delta', ...inside, delta });
      }
      events.push({ type: 'response.custom_tool_call_input.done', ...inside, input });
    }
    events.push({ type: 'response.output_item.done', ...place, item });
    output.push(item);
  });
  events.push({
    type: `response.${ending(script).status}`,
    response: response(script, request, {
      ...ending(script),
      output,
      usage: script.usage ? responsesUsage(script.usage) : null,
    }),
  });
  let sequence_number = 0;
  return events.map((event): Frame => {
    if (!('type' in event)) return event;
    return { event: event.type, data: { sequence_number: sequence_number++, ...event } };
  });
}

/** The end of a failed stream: an error event and response.failed. */
export function responsesErrorFrames(script: Script, request: Request, next: number): Frame[] {
  const failed = response(script, request, { status: 'failed', error: FAILED });
  return [
    {
      event: 'error',
      data: { type: 'error', sequence_number: next, ...FAILED, param: null },
    },
    {
      event: 'response.failed',
      data: { type: 'response.failed', sequence_number: next + 1, response: failed },
    },
  ];
}

function summaryEvents(step: Extract<Step, { reasoning: string }>, inside: object) {
  const at = { ...inside, summary_index: 0 };
  const part = (text: string) => ({ type: 'summary_text', text });
  return [
    { type: 'response.reasoning_summary_part.added', ...at, part: part('') },
    ...piecesOf(step.reasoning, step.pieces).map((delta) => ({
      type: 'response.reasoning_summary_text.delta',
      ...at,
      delta,
    })),
    { type: 'response.reasoning_summary_text.done', ...at, text: step.reasoning },
    { type: 'response.reasoning_summary_part.done', ...at, part: part(step.reasoning) },
  ];
}

function partEvents(
  step: Extract<Step, { text: string } | { refusal: string }>,
  inside: object,
  part: unknown,
) {
  const at = { ...inside, content_index: 0 };
  const isText = 'text' in step;
  const text = isText ? step.text : step.refusal;
  const kind = isText ? 'output_text' : 'refusal';
  const blank = isText
    ? { type: kind, annotations: [], logprobs: [], text: '' }
    : { type: kind, refusal: '' };
  const logprobs = isText ? (step.logprobs ?? []) : [];
  const pieces = piecesOf(text, step.pieces);
  return [
    { type: 'response.content_part.added', ...at, part: blank },
    ...pieces.map((delta, index) => ({
      type: `response.${kind}.delta`,
      ...at,
      delta,
      ...(isText && { logprobs: index === pieces.length - 1 ? logprobs : [] }),
    })),
    {
      type: `response.${kind}.done`,
      ...at,
      ...(isText ? { text, logprobs } : { refusal: text }),
    },
    { type: 'response.content_part.done', ...at, part },
  ];
}
