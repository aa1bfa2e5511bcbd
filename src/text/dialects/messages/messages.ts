import * as v from 'valibot';
import { acceptedMarks } from '../cache-marks.ts';
import type { Dialect } from '../dialect.ts';
import type { Endpoint } from '../endpoint.ts';
import { counting } from './count-tokens.ts';
import { MessagesDecoder } from './decode-events.ts';
import { decodeRequest } from './decode-request.ts';
import { MessagesEncoder } from './encode-events.ts';
import { encodeRequest } from './encode-request.ts';
import { failFrames, withThreadDetails } from './errors.ts';
import { fields } from './fields.ts';
import { foldEvents } from './fold-events.ts';
import { forwardHeaders, VERSION } from './headers.ts';
import { modelListing } from './model-listing.ts';
import { observer } from './observe.ts';
import { withCacheMarks } from './prompt-cache.ts';

const endpoint: Endpoint = {
  path: '/v1/messages',
  summary: 'Answer in the format of messages; with stream, as server-sent events',
  request: fields.schema,
  example: {
    model: 'sandbox-chat',
    max_tokens: 200,
    messages: [{ role: 'user', content: 'Hello' }],
  },
  response: v.looseObject({
    id: v.string(),
    type: v.literal('message'),
    role: v.literal('assistant'),
    model: v.string(),
    content: v.array(v.looseObject({})),
    stop_reason: v.nullable(v.string()),
    stop_sequence: v.nullable(v.string()),
    usage: v.looseObject({ input_tokens: v.number(), output_tokens: v.number() }),
  }),
};

/** The format of Anthropic's messages. */
export const messages: Dialect = {
  name: 'messages',
  label: 'messages',
  endpoints: [endpoint],
  counting,
  modelListing,
  promptField: 'messages',
  settings: fields.settings,
  stops: { takesBlank: false },
  prefillsAnswer: true,
  reasoning: { field: null, isUnsigned: false, isShown: true, hasBudget: true },
  keyHeader: 'x-api-key',
  requestIdHeader: 'request-id',
  otherPaths: '/v1/messages/batches',
  errorBody: (body, requestId) => ({
    type: 'error',
    ...withThreadDetails(body),
    request_id: requestId,
  }),
  forwardHeaders,
  path: () => '/messages',
  headers: VERSION,
  namesEndUser: true,
  cacheMarks: acceptedMarks,
  decodeRequest,
  fields,
  encodeRequest,
  forwardBody: ({ body }, { model }) => ({ ...body, model }),
  withCacheMarks,
  ...observer,
  decodeEvents: (context, emit) => new MessagesDecoder(context, emit),
  encodeEvents: (context) => new MessagesEncoder(context),
  foldEvents,
  modelPaths: [['model'], ['message', 'model']],
  textMembers: ['text', 'thinking', 'partial_json'],
  failFrames,
  costMark: '"message_stop"',
  answerKey: 'content',
};
