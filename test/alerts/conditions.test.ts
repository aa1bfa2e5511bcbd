import { expect, it } from 'vitest';
import { ChargedKeys, reachedBudgets } from '../../src/alerts/budget-check.ts';
import {
  backupFailed,
  type Condition,
  diskLow,
  manyErrors,
  memoryLow,
  nodeLost,
  providerRefused,
  routeDown,
  routeRecovered,
} from '../../src/alerts/condition.ts';
import { openStore } from '../../src/store/drivers/open.ts';
import { temporaryFolder } from '../oriel.ts';
import { CREDIT, keyFor } from '../store/records.ts';

const TIMES = { now: 1000, repeat: 60 };
const ROUTE = { provider: 'acme', model: 'up\n', account: null };
const ERRORS = { name: 'm', requests: 40, failed: 12, window: 300_000, threshold: 0.2 };

const CONDITIONS: readonly (readonly [
  Condition,
  message: string,
  subject: string,
  until: number,
])[] = [
  [
    routeDown(ROUTE, 'x'.repeat(9000), TIMES),
    `The route to "up\\n" at the provider "acme" is down: ${'x'.repeat(300)}`,
    ...(['route/acme/up\n', 1060] as const),
  ],
  [
    routeDown({ ...ROUTE, account: 'acct_1' }, 'no', TIMES),
    'The route to "up\\n" at the provider "acme" is down for the account acct_1: no',
    ...(['route/acme/up\n', 1060] as const),
  ],
  [
    routeRecovered(ROUTE, TIMES),
    'The route to "up\\n" at the provider "acme" works again.',
    ...(['route/acme/up\n', 1060] as const),
  ],
  [
    providerRefused({ provider: 'acme', key: '1/ab', reason: 'wrong key' }, TIMES),
    'The provider "acme" refuses the API key 1/ab or its account: wrong key',
    ...(['refused/acme/1/ab', 1060] as const),
  ],
  [
    manyErrors('model', ERRORS, TIMES),
    '30% of the last 40 requests to the model "m" failed, within 300 seconds.',
    ...(['errors/model/m', 1060] as const),
  ],
  [
    diskLow({ node: 'a:1', free: 0.5e9, total: 20e9 }, TIMES),
    'The disk of the data folder of "a:1" has 500 MB free of 20 GB.',
    ...(['disk/a:1', 1060] as const),
  ],
  [
    memoryLow('a:1', 0.93, TIMES),
    'The daemon "a:1" uses 93% of its memory. It refuses requests when it has used all.',
    ...(['memory/a:1', 1060] as const),
  ],
  [
    nodeLost({ id: 'node_1', name: 'a:1', aliveUntil: 0 }, 1000),
    'The daemon "a:1" does not answer since 1970-01-01T00:00:00.000Z. Other nodes take over its tasks.',
    ...(['node/node_1', 1000 + 2 * 86_400_000] as const),
  ],
  [backupFailed('no space left', TIMES), 'A backup failed: no space left', 'backup', 1060],
];

it.each(CONDITIONS.map((row) => [row[0].type, ...row] as const))(
  '%s says what happened, once until the end of its window',
  (_, condition, message, subject, until) => {
    expect(condition).toMatchObject({ message, subject, until });
  },
);

it('budgets of a key, its team and its account are compared with the thresholds', async () => {
  const now = () => Date.UTC(2026, 9, 24, 12);
  const charged = new ChargedKeys();
  const onCharge = charged.add.bind(charged);
  const store = await openStore({ directory: temporaryFolder(), now, onCharge });
  try {
    const account = await store.createAccount({ name: 'ci', plan: 'paid', credits: 100 * CREDIT });
    const windows = { timeZone: 'UTC', day: 20 * CREDIT };
    const crew = { accountId: account.id, name: 'crew', budget: null, windows };
    const team = await store.createTeam(crew);
    const key = await store.createKey(keyFor(account, { budget: 10 * CREDIT, teamId: team.id }));
    const other = await store.createKey(keyFor(account));
    const charge = (keyId: string, credits: number) => {
      const metered = { model: 'm', counts: { requests: 1 }, charge: credits * CREDIT };
      return store.settle({ accountId: account.id, keyId }, metered);
    };
    const reached = async () => {
      const found: string[] = [];
      for await (const one of reachedBudgets(store, charged.take(), [50, 80, 100])) {
        const { level, subject, window, message } = one;
        found.push(`${subject.replace(/\/[^/]+/, '')} ${window} ${level}`);
        expect(message).not.toContain('whsec_');
        expect(JSON.stringify(one)).not.toContain(account.callbackSecret);
      }
      return found;
    };
    const day = Date.UTC(2026, 9, 24);
    await charge(key.id, 4);
    expect(await reached()).toEqual([]);
    expect(await reached()).toEqual([]);
    await charge(key.id, 1);
    expect(await reached()).toEqual([`key/total ${10 * CREDIT} 50`]);
    await charge(key.id, 4);
    expect(await reached()).toEqual([`key/total ${10 * CREDIT} 80`]);
    // What is left covers no request of two credits.
    await expect(store.reserve(account.id, key.id, 2 * CREDIT)).rejects.toMatchObject({
      status: 402,
    });
    charged.add({ accountId: account.id, keyId: key.id }, true);
    expect(await reached()).toEqual([`key/total ${10 * CREDIT} 100`]);
    await charge(key.id, 1);
    await charge(other.id, 60);
    expect(await reached()).toEqual([
      ...['account/total 100000000 50', `key/total ${10 * CREDIT} 100`],
      `team/day ${day} 50`,
    ]);
  } finally {
    await store.close();
  }
});
