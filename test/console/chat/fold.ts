import type { FormatName } from '../../../src/console/views/chat/formats/conversation.ts';
import { FORMATS } from '../../../src/console/views/chat/formats/formats.ts';

/** Folds events of a stream; a text is data as it stands. */
export function fold(format: FormatName, events: readonly (object | string)[]) {
  const reader = new FORMATS[format].Reader();
  for (const event of events) {
    const data = typeof event === 'string' ? event : JSON.stringify(event);
    reader.read({ event: 'message', data });
  }
  return { answer: reader.answer, replay: reader.replay() };
}
