import * as v from 'valibot';
import { objectsOf } from '../../../schema/untrusted.ts';
import type { Json, TextRequest } from '../../canonical/canonical.ts';
import type { TextEvent } from '../../canonical/events.ts';
import { truncatedAnswer } from '../answer-errors.ts';
import { breakpointsOf } from '../cache-marks.ts';
import type { Dialect, EncodeContext } from '../dialect.ts';
import type { Endpoint } from '../endpoint.ts';
import { usageSchema } from '../usage.ts';
import { failFrames } from './answer.ts';
import { counting } from './count-tokens.ts';
import { ResponsesDecoder } from './decode-events.ts';
import { decodeRequest } from './decode-request.ts';
import { ResponsesEncoder } from './encode-events.ts';
import { encodeRequest } from './encode-request.ts';
import { fields } from './fields.ts';
import { observer } from './observe.ts';

/** Identifiers of an answer and its items, which the provider stores unless the request forbids it. */
function storedIds({ body }: TextRequest, answer: Json): readonly string[] {
  if (body['store'] === false) return [];
  const ids = [answer['id'], ...objectsOf(answer['output']).map(({ id }) => id)];
  return ids.filter((id) => typeof id === 'string');
}

const endpoint: Endpoint = {
  path: '/v1/responses',
  // Of Azure's clients.
  aliases: ['/openai/responses'],
  summary: 'Answer in the format of responses; with stream, as server-sent events',
  request: fields.schema,
  example: { model: 'sandbox-chat', input: 'Hello' },
  response: v.looseObject({
    id: v.string(),
    object: v.literal('response'),
    status: v.string(),
    model: v.string(),
    output: v.array(v.looseObject({})),
    created_at: v.optional(v.number()),
    output_text: v.optional(v.string()),
    usage: v.nullish(usageSchema),
  }),
};

/** OpenAI's Responses API and Open Responses. */
export const responses: Dialect = {
  name: 'responses',
  label: 'responses',
  endpoints: [endpoint],
  counting,
  labelsField: 'metadata',
  promptField: 'input',
  settings: fields.settings,
  abilities: ['allowed-tools', 'json-object', 'namespaces', 'text-input', 'tool-search'],
  usesOpenaiFields: true,
  reasoning: { field: null, isUnsigned: false, isShown: false, hasBudget: false, needsItem: true },
  path: () => '/responses',
  headers: {},
  takesImageDetail: true,
  namesEndUser: true,
  cacheMarks: breakpointsOf,
  decodeRequest,
  fields,
  encodeRequest,
  forwardBody: ({ body }, { model }) => ({ ...body, model }),
  ...observer,
  decodeEvents: (context, emit) => new ResponsesDecoder(context, emit),
  encodeEvents: (context) => new ResponsesEncoder(context),
  foldEvents,
  modelPaths: [['model'], ['response', 'model']],
  textMembers: ['delta', 'text', 'arguments', 'refusal', 'summary', 'content'],
  failFrames,
  costMark: '"response.',
  answerKey: 'output',
  storedIds,
};

/**
 * Folds events into a response, equal to the one in the last event of a stream.
 *
 * @throws Failure if the answer failed or has no end
 */
function foldEvents(context: EncodeContext, choices: readonly (readonly TextEvent[])[]): Json {
  const encoder = new ResponsesEncoder(context, true);
  for (const event of choices[0] ?? []) encoder.push(event);
  if (encoder.failure) throw encoder.failure;
  if (encoder.answer) return encoder.answer;
  throw truncatedAnswer();
}
