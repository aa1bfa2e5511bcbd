import * as v from 'valibot';
import type { Failure } from '../../../src/failure.ts';
import { upstreamFailure } from '../../../src/routing/upstream-failure.ts';
import { checkedBody } from '../../../src/schema/body.ts';
import { openObject } from '../../../src/schema/choice.ts';
import { tryParseJson } from '../../../src/schema/json.ts';
import { isObject, objectOf, objectsOf } from '../../../src/schema/untrusted.ts';
import type { Json, Part, TextRequest, Turn } from '../../../src/text/canonical/canonical.ts';
import type { FinishReason, TextEvent, Usage } from '../../../src/text/canonical/events.ts';
import { invalidAnswer, truncatedAnswer } from '../../../src/text/dialects/answer-errors.ts';
import { wholeCall } from '../../../src/text/dialects/calls.ts';
import { outputCounter } from '../../../src/text/dialects/count-output.ts';
import type {
  Dialect,
  EncodeContext,
  EventDecoder,
  EventEncoder,
} from '../../../src/text/dialects/dialect.ts';
import type { RequestAddress } from '../../../src/text/dialects/endpoint.ts';
import { fieldTable } from '../../../src/text/dialects/field-table.ts';
import { meaning, named } from '../../../src/text/dialects/fields.ts';
import { refuseSettings, untranslatable } from '../../../src/text/dialects/request-errors.ts';
import { textRequest } from '../request.ts';

/**
 * A wire format that no provider has, complete enough for the matrix: the URL names the model and whether
 * to stream, a stream has no end marker, and each event names the model.
 */
const entry = openObject({
  who: v.picklist(['rules', 'user', 'model']),
  words: v.nullish(v.string()),
  thoughts: v.nullish(v.string()),
  calls: v.nullish(v.array(openObject({ id: v.string(), name: v.string() }))),
  results: v.nullish(v.array(openObject({ id: v.string(), words: v.string() }))),
});

const toyRequest = openObject({
  said: v.array(entry),
  limit: v.nullish(v.number()),
  warmth: v.nullish(v.number()),
  tools: v.nullish(v.array(openObject({ name: v.string() }))),
});

const WHY: Readonly<Record<FinishReason, string>> = {
  stop: 'done',
  length: 'full',
  'tool-calls': 'calls',
  refusal: 'refused',
  pause: 'done',
  other: 'done',
};

function partsOf(said: Json, path: string): Part[] {
  const parts: Part[] = [];
  const { thoughts, words } = said;
  if (typeof thoughts === 'string') {
    parts.push({ type: 'reasoning', path: `${path}.thoughts`, text: thoughts, signature: null });
  }
  if (typeof words === 'string') parts.push({ type: 'text', path: `${path}.words`, text: words });
  for (const [index, { id, name, input }] of objectsOf(said['calls']).entries()) {
    parts.push({
      type: 'tool-call',
      path: `${path}.calls[${index}]`,
      id: String(id),
      name: String(name),
      arguments: JSON.stringify(input ?? {}),
    });
  }
  for (const [index, { id, words: text }] of objectsOf(said['results']).entries()) {
    const at = `${path}.results[${index}]`;
    const content = [{ type: 'text', path: at, text: String(text) } as const];
    parts.push({ type: 'tool-result', path: at, callId: String(id), content, isError: false });
  }
  return parts;
}

const ROLES = { rules: 'system', user: 'user', model: 'assistant' } as const;

function decodeRequest(value: unknown, { model, stream }: RequestAddress): TextRequest {
  const body = checkedBody(toyRequest, value) as Json & v.InferInput<typeof toyRequest>;
  const turns = body.said.map((said, index): Turn => {
    const path = `said[${index}]`;
    const role = ROLES[said.who];
    return { role, path, parts: partsOf(said, path), name: null, partial: false, tools: null };
  });
  return textRequest({
    dialect: 'toy',
    body,
    model: model!,
    stream: stream!,
    includeUsage: true,
    turns,
    tools: objectsOf(body.tools).map(({ name, about, shape }, index) => ({
      type: 'tool',
      path: `tools[${index}]`,
      name: String(name),
      description: typeof about === 'string' ? about : null,
      parameters: isObject(shape) ? shape : null,
      strict: null,
    })),
    maxOutputTokens: body.limit ?? null,
    temperature: body.warmth ?? null,
  });
}

function saidOf({ role, parts }: Turn): Json {
  const who = role === 'assistant' ? 'model' : role === 'user' ? 'user' : 'rules';
  const calls: Json[] = [];
  const results: Json[] = [];
  let words = '';
  let thoughts = '';
  for (const part of parts) {
    if (part.type === 'text') words += part.text;
    // Signatures are of other dialects; this one takes reasoning without.
    else if (part.type === 'reasoning') thoughts += part.signature === null ? part.text : '';
    else if (part.type === 'tool-call') {
      calls.push({ id: part.id, name: part.name, input: tryParseJson(part.arguments) });
    } else if (part.type === 'tool-result') {
      const text = part.content.map((one) => (one.type === 'text' ? one.text : ''));
      results.push({ id: part.callId, words: text.join('') });
    } else throw untranslatable(part.path, 'toy');
  }
  return {
    who,
    ...(thoughts !== '' && { thoughts }),
    ...(words !== '' && { words }),
    ...(calls.length > 0 && { calls }),
    ...(results.length > 0 && { results }),
  };
}

function encodeRequest(request: TextRequest): Json {
  refuseSettings(request, 'toy', ['topP', 'topK', 'seed', 'format']);
  const { turns, tools, maxOutputTokens, temperature } = request;
  return {
    said: turns.map(saidOf),
    ...(maxOutputTokens !== null && { limit: maxOutputTokens }),
    ...(temperature !== null && { warmth: temperature }),
    ...(tools.length > 0 && {
      tools: tools.map((tool) => {
        if (tool.type === 'native') throw untranslatable(tool.path, 'toy');
        return { name: tool.name, about: tool.description, shape: tool.parameters };
      }),
    }),
  };
}

function usageOf(value: unknown): Usage | null {
  if (!isObject(value)) return null;
  const { read, written } = value;
  return {
    input: Number(read),
    output: Number(written),
    cachedInput: 0,
    cacheWrite: 0,
    reasoning: null,
  };
}

function failureOf({ wrong }: Json): Failure | null {
  return wrong === undefined ? null : upstreamFailure(null, { error: { message: wrong } });
}

const REASONS = new Map<unknown, FinishReason>([
  ['done', 'stop'],
  ['full', 'length'],
  ['calls', 'tool-calls'],
  ['refused', 'refusal'],
]);

class ToyDecoder implements EventDecoder {
  readonly #emit: (event: TextEvent) => void;
  readonly #toolName: (wire: string) => string;
  #started = false;
  #ended = false;
  #block = -1;
  #kind: 'text' | 'reasoning' | null = null;

  constructor(
    { toolName }: { readonly toolName: (wire: string) => string },
    emit: (event: TextEvent) => void,
  ) {
    this.#toolName = toolName;
    this.#emit = emit;
  }

  push(data: string): void {
    const event = tryParseJson(data);
    if (isObject(event)) this.#take(event);
    else this.#fail(invalidAnswer('an event that is no JSON object'));
  }

  whole(body: unknown): void {
    const { said, ...rest } = objectOf(body);
    for (const one of objectsOf(said)) this.#take({ ...one, by: rest['by'] });
    this.#take(rest);
  }

  end(): void {
    if (!this.#ended) this.#fail(truncatedAnswer());
  }

  #take(event: Json): void {
    if (this.#ended) return;
    const failure = failureOf(event);
    if (failure) {
      this.#fail(failure);
      return;
    }
    if (!this.#started) {
      this.#started = true;
      this.#emit({ type: 'start', id: null, model: String(event['by']) });
    }
    const { thoughts, words, call, why, count } = event;
    if (typeof thoughts === 'string') this.#write('reasoning', thoughts);
    if (typeof words === 'string') this.#write('text', words);
    if (isObject(call)) {
      this.#close();
      this.#block += 1;
      const { id, name, input } = call;
      const json = JSON.stringify(input);
      const named = { id: String(id), name: this.#toolName(String(name)), json };
      for (const one of wholeCall(this.#block, named)) this.#emit(one);
    }
    if (why === undefined) return;
    this.#close();
    this.#ended = true;
    const reason = REASONS.get(why) ?? 'other';
    const raw = String(why);
    this.#emit({ type: 'finish', reason, raw, stopSequence: null, usage: usageOf(count) });
  }

  #write(kind: 'text' | 'reasoning', text: string): void {
    if (this.#kind !== kind) {
      this.#close();
      this.#kind = kind;
      this.#block += 1;
      this.#emit({ type: `${kind}-start`, block: this.#block });
    }
    this.#emit({ type: `${kind}-delta`, block: this.#block, text });
  }

  #close(): void {
    const block = this.#block;
    if (this.#kind === 'text') this.#emit({ type: 'text-end', block });
    if (this.#kind === 'reasoning') this.#emit({ type: 'reasoning-end', block, signature: null });
    this.#kind = null;
  }

  #fail(failure: Failure): void {
    this.#ended = true;
    this.#emit({ type: 'error', failure });
  }
}

const frame = (event: Json) => `data: ${JSON.stringify(event)}\n\n`;

class ToyEncoder implements EventEncoder {
  #model: string;
  #call = { id: '', name: '', json: '' };

  constructor({ request }: EncodeContext) {
    this.#model = request.model;
  }

  push(event: TextEvent): string {
    const by = this.#model;
    switch (event.type) {
      case 'start':
        this.#model = event.model ?? by;
        return '';
      case 'text-delta':
      case 'refusal-delta':
        return frame({ by, words: event.text });
      case 'reasoning-delta':
        return frame({ by, thoughts: event.text });
      case 'tool-start':
        this.#call = { id: event.id, name: event.name, json: '' };
        return '';
      case 'tool-delta':
        this.#call.json += event.json;
        return '';
      case 'tool-end': {
        const { id, name, json } = this.#call;
        return frame({ by, call: { id, name, input: tryParseJson(json || '{}') } });
      }
      case 'finish':
        return frame({ by, why: WHY[event.reason], count: countOf(event.usage) });
      case 'error':
        return failFrames(event.failure);
      default:
        return '';
    }
  }
}

function countOf(usage: Usage | null): Json | null {
  return usage && { read: usage.input, written: usage.output };
}

const failFrames = ({ message }: Failure): string => frame({ wrong: message });

function foldEvents(
  context: EncodeContext,
  [events = []]: readonly (readonly TextEvent[])[],
): Json {
  const encoder = new ToyEncoder(context);
  const said: Json[] = [];
  let rest: Json = {};
  for (const event of events) {
    if (event.type === 'error') throw event.failure;
    const text = encoder.push(event);
    if (text === '') continue;
    const { by, ...own } = JSON.parse(text.slice('data: '.length)) as Json;
    if (own['why'] === undefined) said.push(own);
    else rest = { by, ...own };
  }
  return { said, ...rest };
}

const endpoint = {
  summary: 'Text in the format of a test',
  request: toyRequest,
  example: { said: [{ who: 'user', words: 'Hello' }] },
  response: openObject({ said: v.array(openObject({})) }),
} as const;

export const toy: Dialect = {
  name: 'toy',
  label: 'toy',
  endpoints: [
    { ...endpoint, path: '/toy/:model/whole', stream: false },
    { ...endpoint, path: '/toy/:model/stream', stream: true },
  ],
  promptField: 'said',
  settings: { maxOutputTokens: ['limit'], temperature: ['warmth'] },
  reasoning: { field: 'thoughts', isUnsigned: true, isShown: false, hasBudget: false },
  keyHeader: 'toy-key',
  requestIdHeader: 'toy-request',
  errorBody: (body, requestId) => ({ ...body, request: requestId }),
  path: ({ model }, stream) => `/toy/${model}/${stream ? 'stream' : 'whole'}`,
  headers: { 'toy-version': '7' },
  decodeRequest,
  fields: fieldTable(named(meaning('Content.'), 'said', 'limit', 'warmth', 'tools')),
  encodeRequest,
  forwardBody: ({ body }) => ({ ...body }),
  decodeEvents: (context, emit) => new ToyDecoder(context, emit),
  encodeEvents: (context) => new ToyEncoder(context),
  foldEvents,
  markers: ['"why"', '"wrong"'],
  modelPaths: [['by']],
  finishReasons: ({ why }) => (typeof why === 'string' ? [why] : []),
  textMembers: ['words', 'thoughts'],
  countOutput: outputCounter(/"(?:words|thoughts|call)"/g),
  hasOutput: (frames) => /"(?:words|thoughts|call)"/.test(frames),
  observe(event) {
    const failure = failureOf(event);
    if (failure) return { failure };
    const usage = usageOf(event['count']);
    return { ...(usage && { usage }), ...(event['why'] !== undefined && { terminal: true }) };
  },
  failFrames,
  answerKey: 'said',
  observeAnswer: (body) => ({
    usage: usageOf(body['count']),
    body,
    failure: failureOf(body),
  }),
};
