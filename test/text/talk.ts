import { OWNER_KEY, type TestDaemon } from '../daemon.ts';
import type { Settings, Talk } from './conversation.ts';
import type { DialectName } from './mock-upstream.ts';
import { chatTalk } from './talk-chat.ts';
import { messagesTalk } from './talk-messages.ts';
import { responsesTalk } from './talk-responses.ts';

const TALKS = { chat: chatTalk, responses: responsesTalk, messages: messagesTalk };

export function talk(
  client: DialectName,
  { url }: Pick<TestDaemon, 'url'>,
  settings: Settings,
  key = OWNER_KEY,
): Talk {
  return TALKS[client]({ url, key }, settings);
}
