import { chat } from './dialects/chat/chat.ts';
import { completions } from './dialects/completions/completions.ts';
import { converse } from './dialects/converse/converse.ts';
import { gemini } from './dialects/gemini/gemini.ts';
import { messages } from './dialects/messages/messages.ts';
import { registerDialect } from './dialects/registry.ts';
import { responses } from './dialects/responses/responses.ts';

/** The wire formats of this program. Each is one folder beside this file, and one line here. */
registerDialect(chat);
registerDialect(responses);
registerDialect(messages);
registerDialect(completions);
registerDialect(gemini);
registerDialect(converse);
