import type { DialectName } from '../canonical.ts';
import { chat } from './chat/chat.ts';
import type { Dialect } from './dialect.ts';
import { messages } from './messages/messages.ts';
import { responses } from './responses/responses.ts';

/** All wire formats of text, by their names. */
export const DIALECTS: Readonly<Record<DialectName, Dialect>> = { chat, responses, messages };
