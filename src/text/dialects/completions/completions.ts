import * as v from 'valibot';
import { failFrames } from '../chat/encode-events.ts';
import type { Dialect } from '../dialect.ts';
import type { Endpoint } from '../endpoint.ts';
import { usageSchema } from '../usage.ts';
import { decodeRequest } from './decode-request.ts';
import { CompletionsEncoder, foldEvents } from './encode-events.ts';
import { fields } from './fields.ts';

const endpoint: Endpoint = {
  path: '/v1/completions',
  summary: "Answer in OpenAI's legacy format of completions; with stream, as server-sent events",
  request: fields.schema,
  example: { model: 'sandbox-chat', prompt: 'Hello' },
  response: v.looseObject({
    id: v.string(),
    object: v.literal('text_completion'),
    created: v.number(),
    model: v.string(),
    choices: v.array(
      v.looseObject({
        index: v.number(),
        text: v.string(),
        logprobs: v.null(),
        finish_reason: v.picklist(['stop', 'length', 'content_filter']),
      }),
    ),
    usage: v.optional(usageSchema),
  }),
};

/** Requests to upstreams that speak all formats have the dialect chat. */
const refuse = (): never => {
  throw new Error('No upstream speaks legacy completions');
};

/** OpenAI's legacy completions, for clients; upstreams are asked in formats of chat models. */
export const completions: Dialect = {
  name: 'completions',
  upstreamDialect: 'chat',
  path: refuse,
  headers: {},
  encodeRequest: refuse,
  forwardBody: refuse,
  decodeEvents: refuse,
  markers: [],
  modelPaths: [],
  finishReasons: refuse,
  countOutput: refuse,
  hasOutput: refuse,
  observe: refuse,
  observeAnswer: refuse,
  label: 'legacy completions',
  operation: 'text_completion',
  endpoints: [endpoint],
  promptField: 'prompt',
  settings: fields.settings,
  usesOpenaiFields: true,
  reasoning: { field: null, isUnsigned: false, isShown: false, hasBudget: false },
  decodeRequest,
  fields,
  encodeEvents: (context) => new CompletionsEncoder(context),
  foldEvents,
  failFrames,
  textMembers: ['text'],
  costMark: '"usage":',
  answerKey: 'choices',
};
