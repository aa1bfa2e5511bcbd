import { chat } from './chat/chat.ts';
import { completions } from './completions/completions.ts';
import { gemini } from './gemini/gemini.ts';
import { messages } from './messages/messages.ts';
import { registerDialect } from './registry.ts';
import { responses } from './responses/responses.ts';

/** The wire formats of this program. Each is one folder beside this file, and one line here. */
registerDialect(chat);
registerDialect(responses);
registerDialect(messages);
registerDialect(completions);
registerDialect(gemini);
