import type { Dialect } from './dialect.ts';
import { MessagesDecoder } from './messages/event-decoder.ts';
import { failFrames, MessagesEncoder } from './messages/event-encoder.ts';
import { foldEvents } from './messages/fold.ts';
import { markers, observe, observeAnswer } from './messages/observer.ts';
import { decodeRequest } from './messages/request-decoder.ts';
import { encodeRequest } from './messages/request-encoder.ts';

/** The format of Anthropic's messages (interface part 4.3). */
export const messages: Dialect = {
  name: 'messages',
  decodeRequest,
  encodeRequest,
  decodeEvents: (context, emit) => new MessagesDecoder(context, emit),
  encodeEvents: (context) => new MessagesEncoder(context),
  foldEvents,
  markers,
  observe,
  failFrames,
  observeAnswer,
};
