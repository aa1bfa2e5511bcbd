import type { Dialect } from './dialect.ts';
import { ResponsesDecoder } from './responses/decode-events.ts';
import { decodeRequest } from './responses/decode-request.ts';
import { ResponsesEncoder } from './responses/encode-events.ts';
import { encodeRequest } from './responses/encode-request.ts';
import { failFrames } from './responses/fail-frames.ts';
import { foldEvents } from './responses/fold-events.ts';
import { inspect } from './responses/inspect.ts';
import { countOutput, markers, observe, observeAnswer } from './responses/observe.ts';

/** The format of OpenAI's Responses API, and of Open Responses. */
export const responses: Dialect = {
  name: 'responses',
  decodeRequest,
  inspect,
  encodeRequest,
  decodeEvents: (context, emit) => new ResponsesDecoder(context, emit),
  encodeEvents: (context) => new ResponsesEncoder(context),
  foldEvents,
  markers,
  countOutput,
  observe,
  failFrames,
  observeAnswer,
};
