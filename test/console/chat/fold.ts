import { AnswerFolder } from '../../../src/console/views/chat/formats/answer.ts';
import type { FormatName } from '../../../src/console/views/chat/formats/conversation.ts';
import { FORMATS } from '../../../src/console/views/chat/formats/formats.ts';

/** Folds events of a stream; a text is data as it stands. */
export function fold(format: FormatName, events: readonly (object | string)[]) {
  const decoder = FORMATS[format].decoder();
  const folder = new AnswerFolder();
  for (const event of events) {
    const data = typeof event === 'string' ? event : JSON.stringify(event);
    for (const one of decoder.decode({ event: 'message', data })) folder.add(one);
  }
  return { answer: folder.answer, replay: decoder.replay(folder.answer) };
}
