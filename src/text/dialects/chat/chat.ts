import * as v from 'valibot';
import { words } from '../../../words.ts';
import type { Json, TextRequest } from '../../canonical/canonical.ts';
import { breakpointsOf } from '../cache-marks.ts';
import type { Dialect } from '../dialect.ts';
import type { Endpoint } from '../endpoint.ts';
import { usageSchema } from '../usage.ts';
import { ChatDecoder } from './decode-events.ts';
import { decodeRequest } from './decode-request.ts';
import { ChatEncoder, failFrames } from './encode-events.ts';
import { encodeRequest } from './encode-request.ts';
import { fields } from './fields.ts';
import { foldEvents } from './fold-events.ts';
import { observer } from './observe.ts';

/** Usage is requested whether the client wants it or not: the request is charged by it. */
function usageOptions({ body, stream, includeUsage }: TextRequest): Json {
  if (!stream || includeUsage) return {};
  const options = body['stream_options'] as Json | undefined;
  return { stream_options: { ...options, include_usage: true } };
}

const endpoint: Endpoint = {
  path: '/v1/chat/completions',
  // Of Azure's clients.
  aliases: ['/openai/deployments/:model/chat/completions'],
  summary: 'Answer in the format of chat completions; with stream, as server-sent events',
  request: fields.schema,
  example: { model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hello' }] },
  response: v.looseObject({
    id: v.string(),
    object: v.literal('chat.completion'),
    created: v.number(),
    model: v.string(),
    choices: v.array(v.looseObject({})),
    usage: v.optional(usageSchema),
  }),
};

/** The format of OpenAI's chat completions. */
export const chat: Dialect = {
  name: 'chat',
  label: 'chat completions',
  endpoints: [endpoint],
  labelsField: 'metadata',
  promptField: 'messages',
  settings: fields.settings,
  // OpenAI has allowed and custom tools here; the many compatible servers have functions only.
  abilities: ['json-object'],
  stops: { most: 4 },
  usesOpenaiFields: true,
  reasoning: {
    field: 'reasoning_content',
    isUnsigned: true,
    isShown: false,
    hasBudget: false,
    refusesEfforts: true,
    isAlias: ({ thinking }) => typeof thinking === 'object' && thinking !== null,
  },
  // Of Azure's clients.
  keyHeader: 'api-key',
  path: () => '/chat/completions',
  headers: {},
  takesImageDetail: true,
  namesEndUser: true,
  cacheMarks: breakpointsOf,
  decodeRequest,
  fields,
  encodeRequest,
  forwardBody: (request, { model }) => ({ ...request.body, model, ...usageOptions(request) }),
  ...observer,
  decodeEvents: (context, emit) => new ChatDecoder(context, emit),
  encodeEvents: (context) => new ChatEncoder(context),
  foldEvents,
  endMarker: '[DONE]',
  modelPaths: [['model']],
  textMembers: words('content reasoning_content reasoning refusal arguments text thinking summary'),
  failFrames,
  costMark: '"usage":',
  emptyUsage: /, ?"usage": ?null/g,
  answerKey: 'choices',
};
