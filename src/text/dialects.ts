import type { DialectName } from './canonical.ts';
import { chat } from './chat.ts';
import type { Dialect } from './dialect.ts';
import { messages } from './messages.ts';
import { responses } from './responses.ts';

/** All wire formats of text, by their names. */
export const DIALECTS: Readonly<Record<DialectName, Dialect>> = { chat, responses, messages };
