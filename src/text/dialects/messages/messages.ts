import type { Dialect } from '../dialect.ts';
import { MessagesDecoder } from './decode-events.ts';
import { decodeRequest } from './decode-request.ts';
import { MessagesEncoder } from './encode-events.ts';
import { encodeRequest } from './encode-request.ts';
import { failFrames } from './fail-frames.ts';
import { foldEvents } from './fold-events.ts';
import { inspect } from './inspect.ts';
import { countOutput, markers, observe, observeAnswer } from './observe.ts';

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
