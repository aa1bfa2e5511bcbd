import type { Dialect } from '../dialect.ts';
import { ResponsesDecoder } from './decode-events.ts';
import { decodeRequest } from './decode-request.ts';
import { ResponsesEncoder } from './encode-events.ts';
import { encodeRequest } from './encode-request.ts';
import { failFrames } from './fail-frames.ts';
import { foldEvents } from './fold-events.ts';
import { inspect } from './inspect.ts';
import { countOutput, markers, observe, observeAnswer } from './observe.ts';

/** OpenAI's Responses API and Open Responses (interface part 4.2). */
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
