import type { Dialect } from '../dialect.ts';
import { ChatDecoder } from './decode-events.ts';
import { decodeRequest } from './decode-request.ts';
import { ChatEncoder } from './encode-events.ts';
import { encodeRequest } from './encode-request.ts';
import { failFrames } from './fail-frames.ts';
import { foldEvents } from './fold-events.ts';
import { inspect } from './inspect.ts';
import { countOutput, markers, observe, observeAnswer } from './observe.ts';

/** Chat completions (interface parts 2.6 and 4.1). */
export const chat: Dialect = {
  name: 'chat',
  decodeRequest,
  inspect,
  encodeRequest,
  decodeEvents: (context, emit) => new ChatDecoder(context, emit),
  encodeEvents: (context) => new ChatEncoder(context),
  foldEvents,
  markers,
  countOutput,
  observe,
  failFrames,
  observeAnswer,
};
