import { acceptedMarks } from '../cache-marks.ts';
import type { Dialect } from '../dialect.ts';
import { counting } from './count-tokens.ts';
import { MessagesDecoder } from './decode-events.ts';
import { decodeRequest } from './decode-request.ts';
import { MessagesEncoder } from './encode-events.ts';
import { encodeRequest } from './encode-request.ts';
import { endpoint } from './endpoint.ts';
import { failFrames } from './fail-frames.ts';
import { fields } from './fields.ts';
import { foldEvents } from './fold-events.ts';
import { forwardHeaders, VERSION } from './headers.ts';
import { modelListing } from './model-listing.ts';
import {
  countOutput,
  finishReasons,
  hasOutput,
  markers,
  observe,
  observeAnswer,
} from './observe.ts';
import { settings } from './settings.ts';
import { withThreadDetails } from './thread.ts';

/** The format of Anthropic's messages (interface part 4.3). */
export const messages: Dialect = {
  name: 'messages',
  label: 'messages',
  endpoints: [endpoint],
  counting,
  modelListing,
  promptField: 'messages',
  settings,
  stops: { takesBlank: false },
  prefillsAnswer: true,
  usesOpenaiFields: false,
  reasoning: { field: null, isUnsigned: false, isShown: true, hasBudget: true },
  keyHeader: 'x-api-key',
  requestIdHeader: 'request-id',
  errorBody: (body, requestId) => ({
    type: 'error',
    ...withThreadDetails(body),
    request_id: requestId,
  }),
  forwardHeaders,
  path: () => '/messages',
  headers: VERSION,
  takesImageDetail: false,
  namesEndUser: true,
  cacheMarks: acceptedMarks,
  decodeRequest,
  fields,
  encodeRequest,
  forwardBody: ({ body }, { model }) => ({ ...body, model }),
  decodeEvents: (context, emit) => new MessagesDecoder(context, emit),
  encodeEvents: (context) => new MessagesEncoder(context),
  foldEvents,
  endMarker: null,
  markers,
  modelMember: null,
  modelPaths: [['model'], ['message', 'model']],
  finishReasons,
  textMembers: ['text', 'thinking', 'partial_json'],
  countOutput,
  hasOutput,
  observe,
  failFrames,
  answerKey: 'content',
  observeAnswer,
};
