import { expect, it, onTestFinished } from 'vitest';
import type { Config } from '../../../src/config/settings/schema.ts';
import { openLowdbStore } from '../../../src/store/drivers/lowdb/open.ts';
import { StoredResponses } from '../../../src/text/stored/stored-responses.ts';
import { temporaryFolder } from '../../oriel.ts';

const DAY = 86_400_000;

it('a conversation is kept for the retention after its last use, and then leaves nothing', async () => {
  let now = 0;
  const store = await openLowdbStore({ directory: temporaryFolder(), now: () => now });
  onTestFinished(() => store.close());
  const conversationRetention = 30 * DAY;
  const responses = { conversationRetention, retention: DAY, maxCount: 99, maxSize: 1e6 };
  const stored = new StoredResponses(store, 'acct_1', { responses } as unknown as Config);
  const { id } = await stored.create({}, []);
  const [first] = await stored.append(id, [{ role: 'user', content: 'Hello' }]);
  for (const use of [
    () => stored.append(id, [{ role: 'user', content: 'More' }]),
    () => stored.conversation(id, 1e6),
  ]) {
    now += 29 * DAY;
    expect(await use()).toBeDefined();
  }
  now += 29 * DAY;
  expect(await stored.item(String(first!['id']))).toEqual(first);
  now += DAY;
  expect(await stored.conversation(id, 1e6)).toBeUndefined();
  expect(await stored.item(String(first!['id']))).toBeUndefined();
  expect(await stored.append(id, [{ role: 'user', content: 'Late' }])).toEqual([]);
  while ((await store.documents.sweep()) > 0);
  for (const kind of ['conversation', 'conversation_item'] as const) {
    expect(await store.documents.usage(kind, 'acct_1')).toEqual({ count: 0, bytes: 0 });
  }
});
