import { chatCompletions } from './chat-completions.ts';
import type { FormatName } from './conversation.ts';
import type { Format } from './format.ts';
import { messages } from './messages.ts';
import { responses } from './responses.ts';

export const FORMATS: Readonly<Record<FormatName, Format>> = {
  chat: chatCompletions,
  responses,
  messages,
};

export const FORMAT_NAMES = Object.keys(FORMATS) as readonly FormatName[];

export function isFormat(name: string | null): name is FormatName {
  return name !== null && Object.hasOwn(FORMATS, name);
}
