import { objectsOf } from '../../../schema/untrusted.ts';
import type { Json, TextRequest } from '../../canonical/canonical.ts';
import { breakpointsOf } from '../cache-marks.ts';
import type { Dialect } from '../dialect.ts';
import { ResponsesDecoder } from './decode-events.ts';
import { decodeRequest } from './decode-request.ts';
import { ResponsesEncoder } from './encode-events.ts';
import { encodeRequest } from './encode-request.ts';
import { endpoint } from './endpoint.ts';
import { failFrames } from './fail-frames.ts';
import { fields } from './fields.ts';
import { foldEvents } from './fold-events.ts';
import {
  countOutput,
  finishReasons,
  hasOutput,
  markers,
  observe,
  observeAnswer,
} from './observe.ts';
import { settings } from './settings.ts';

/** Identifiers of an answer and its items, which the provider stores unless the request forbids it. */
function storedIds({ body }: TextRequest, answer: Json): readonly string[] {
  if (body['store'] === false) return [];
  const ids = [answer['id'], ...objectsOf(answer['output']).map(({ id }) => id)];
  return ids.filter((id) => typeof id === 'string');
}

/** OpenAI's Responses API and Open Responses (interface part 4.2). */
export const responses: Dialect = {
  name: 'responses',
  label: 'responses',
  endpoints: [endpoint],
  promptField: 'input',
  settings,
  abilities: ['allowed-tools', 'json-object', 'namespaces', 'text-input', 'tool-search'],
  prefillsAnswer: false,
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
  decodeEvents: (context, emit) => new ResponsesDecoder(context, emit),
  encodeEvents: (context) => new ResponsesEncoder(context),
  foldEvents,
  endMarker: null,
  markers,
  modelMember: null,
  modelPaths: [['model'], ['response', 'model']],
  finishReasons,
  textMembers: ['delta', 'text', 'arguments', 'refusal', 'summary', 'content'],
  countOutput,
  hasOutput,
  observe,
  failFrames,
  answerKey: 'output',
  observeAnswer,
  storedIds,
};
