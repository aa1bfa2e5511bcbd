import type { Dialect } from './dialect.ts';
import { MessagesDecoder } from './messages/decode-events.ts';
import { decodeRequest } from './messages/decode-request.ts';
import { MessagesEncoder } from './messages/encode-events.ts';
import { encodeRequest } from './messages/encode-request.ts';
import { failFrames } from './messages/fail-frames.ts';
import { foldEvents } from './messages/fold-events.ts';
import { inspect } from './messages/inspect.ts';
import { countOutput, markers, observe, observeAnswer } from './messages/observe.ts';

/** The format of Anthropic's messages (interface part 4.3). */
export const messages: Dialect = {
  name: 'messages',
  decodeRequest,
  inspect,
  encodeRequest,
  decodeEvents: (context, emit) => new MessagesDecoder(context, emit),
  encodeEvents: (context) => new MessagesEncoder(context),
  foldEvents,
  markers,
  countOutput,
  observe,
  failFrames,
  observeAnswer,
};
