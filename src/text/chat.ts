import { ChatDecoder } from './chat/decode-events.ts';
import { decodeRequest } from './chat/decode-request.ts';
import { ChatEncoder } from './chat/encode-events.ts';
import { encodeRequest } from './chat/encode-request.ts';
import { failFrames } from './chat/fail-frames.ts';
import { foldEvents } from './chat/fold-events.ts';
import { inspect } from './chat/inspect.ts';
import { countOutput, markers, observe, observeAnswer } from './chat/observe.ts';
import type { Dialect } from './dialect.ts';

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
