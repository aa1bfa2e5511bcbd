import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { KeyRecord, TeamRecord } from '../../../src/administration/records.ts';
import { hashOf } from '../../../src/store/key.ts';
import { utcDayOf } from '../../../src/store/ledger.ts';
import type { Store } from '../../../src/store/store.ts';
import { temporaryFolder, words } from '../../oriel.ts';
import { residentCommand } from '../../resident.ts';
import { filesBelow } from '../folder.ts';
import { type AdminPlace, adminPlaces } from './admin-place.ts';

const resident = residentCommand();

interface UsageRow {
  readonly [name: string]: string | number | null;
}

type Printed = TeamRecord &
  KeyRecord & {
    readonly key: string;
    readonly keys: readonly KeyRecord[];
    readonly teams: readonly TeamRecord[];
    readonly rows: readonly UsageRow[];
    readonly total: UsageRow;
  };

const RESETS = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);

async function withAccount(begin: () => Promise<AdminPlace<Printed>>) {
  const place = await begin();
  await place.json('accounts', 'create', 'ci', '--credits', '100');
  return place;
}

/** Charges credits to a key as a text request would. */
async function spend(store: Store, key: string, model: string, charge: number, outputTokens = 3) {
  const { account, key: found } = (await store.findKey(hashOf(key)))!;
  const written = { cacheWriteTokens: 5, cacheWrite1hTokens: 2 };
  const counts = { inputTokens: 10, cachedInputTokens: 4, ...written, outputTokens };
  await store.settle({ accountId: account.id, keyId: found.id }, { model, counts, charge });
}

describe.each(adminPlaces<Printed>(resident))('%s', (_, begin) => {
  it('teams are made, changed, listed and removed', async () => {
    const { json, run } = await withAccount(begin);
    const made = await json(
      ...words`teams create crew --account ci --budget 50 --parallel 8`,
      ...['--budget-day', '2.5', '--budget-month', '20', '--time-zone', 'europe/berlin'],
    );
    const window = { timeZone: 'Europe/Berlin', resetsAt: RESETS, reserved: 0, spent: 0 };
    expect(made).toEqual({
      id: expect.stringMatching(/^team_\w{20}$/),
      account: 'ci',
      name: 'crew',
      createdAt: RESETS,
      keys: 0,
      reserved: 0,
      spent: 0,
      parallel: 8,
      budget: { granted: 50, reserved: 0, spent: 0, available: 50 },
      windows: [
        { period: 'day', ...window, granted: 2.5, available: 2.5 },
        { period: 'month', ...window, granted: 20, available: 20 },
      ],
    });
    const changes = ['--name', 'staff', '--budget', 'none', '--budget-day', 'none'];
    const changed = await json('teams', 'set', 'crew', ...changes, '--budget-week', '7');
    expect(changed).toMatchObject({
      id: made.id,
      name: 'staff',
      budget: null,
      windows: [
        { period: 'week', timeZone: 'Europe/Berlin', granted: 7 },
        { period: 'month', granted: 20 },
      ],
    });
    const key = await json('keys', 'create', '--account', 'ci', '--team', 'staff');
    expect(key).toMatchObject({ team: 'staff', windows: [] });
    expect((await json('teams', 'list')).teams).toEqual([{ ...changed, keys: 1 }]);
    expect((await run('teams', 'list', '--account', 'ci')).out).toMatch(
      /^NAME .*\nstaff +ci +1 +0 +0 +7 of 7 a week, 20 of 20 a month +8 at once +\d{4}-\d\d-\d\d +team_\w+\n$/,
    );
    const held = await run('teams', 'remove', made.id);
    expect(held.stderr).toBe('oriel: a key is in the team staff\n');
    await json('keys', 'set', key.id, '--team', 'none');
    expect(await json('teams', 'remove', 'staff')).toMatchObject({ id: made.id });
    expect((await json('teams', 'list')).teams).toEqual([]);
    expect((await run('teams', 'remove', 'staff')).stderr).toBe(
      'oriel: there is no team "staff"\n',
    );
  });

  it('a team whose name several accounts use is named with its account', async () => {
    const { json, run } = await withAccount(begin);
    await json('accounts', 'create', 'other');
    for (const account of ['ci', 'other']) {
      await json('teams', 'create', 'crew', '--account', account);
    }
    const { status, stderr } = await run('teams', 'set', 'crew', '--budget', '1');
    expect(status).toBe(1);
    expect(stderr).toMatch(/^oriel: that may be any of team_\w+, team_\w+; name one of them/);
    const set = await json('teams', 'set', 'crew', '--account', 'other', '--budget', '1');
    expect(set).toMatchObject({ account: 'other', budget: { granted: 1 } });
    // A key gets the team of its own account.
    const { key } = await json('keys', 'create', '--account', 'ci');
    await json('keys', 'set', key, '--team', 'crew');
    const { teams } = await json('teams', 'list');
    expect(teams.map(({ account, keys }) => [account, keys])).toEqual([
      ['ci', 1],
      ['other', 0],
    ]);
    expect((await run('keys', 'set', key, '--team', set.id)).stderr).toBe(
      `oriel: there is no team "${set.id}"\n`,
    );
  });

  it('a key is changed, and only what is given', async () => {
    const { json, look } = await withAccount(begin);
    const { key, id } = await json(
      ...words`keys create --account ci --expires 90d --rpm 60 --models sandbox-chat`,
      ...words`--allow mcp --budget 5 --images b64_json`,
    );
    const { keys } = await json('keys', 'list');
    expect(keys[0]).toMatchObject({ allow: ['mcp'], images: 'b64_json' });
    await look((store) => spend(store, key, 'm', 2_000_000));
    const budgets = ['--budget-day', '3', '--budget-week', '4', '--time-zone', 'Asia/Kolkata'];
    const set = await json('keys', 'set', id, '--name', 'desk', '--budget', '1', ...budgets);
    const window = { timeZone: 'Asia/Kolkata', resetsAt: RESETS, reserved: 0, spent: 0 };
    expect(set).toEqual({
      ...keys[0],
      name: 'desk',
      // Lowered below what is spent.
      budget: { granted: 1, reserved: 0, spent: 2, available: 0 },
      windows: [
        { period: 'day', ...window, granted: 3, available: 3 },
        { period: 'week', ...window, granted: 4, available: 4 },
      ],
    });
    await look((store) => spend(store, key, 'm', 0));
    const all = ['--models', 'all', '--rpm', 'plan', '--expires', 'never', '--allow', 'none'];
    const none = ['--budget', 'none', '--budget-day', 'none', '--budget-week', 'none'];
    const bare = await json('keys', 'set', key, ...all, ...none, '--images', 'default');
    expect(bare).toMatchObject({
      name: 'desk',
      expiresAt: null,
      models: null,
      rpm: null,
      budget: null,
      windows: [],
    });
    expect(bare).not.toHaveProperty('allow');
    expect(bare).not.toHaveProperty('images');
    const { models, rpm } = await json(...words`keys set ${key} --models sandbox-chat --rpm 7`);
    expect([models, rpm]).toEqual([['sandbox-chat'], 7]);
  });

  it('a revoked key is not changed, and no key is without a change', async () => {
    const { json, run } = await withAccount(begin);
    const { id } = await json('keys', 'create', '--account', 'ci');
    expect(await run('keys', 'set', id)).toMatchObject({
      status: 1,
      stderr: 'oriel: nothing to change is given; expected an option besides id\n',
    });
    expect((await run('keys', 'set', id, '--time-zone', 'UTC')).stderr).toBe(
      'oriel: --time-zone: has no meaning without a budget by day, week or month\n',
    );
    await json('keys', 'revoke', id);
    expect(await run('keys', 'set', id, '--expires', 'never')).toMatchObject({
      status: 1,
      stderr: `oriel: ${id} is revoked\n`,
    });
  });

  it('usage is reported by any columns, as a table, JSON and CSV', async () => {
    const { json, run, look } = await withAccount(begin);
    const { id: teamId } = await json('teams', 'create', 'crew', '--account', 'ci');
    const [one, two] = [
      await json('keys', 'create', '--account', 'ci', '--name', 'one', '--team', 'crew'),
      await json('keys', 'create', '--account', 'ci', '--name', 'two'),
    ];
    await look(async (store) => {
      await spend(store, one.key, 'b', 1_500_000);
      await spend(store, one.key, 'a', 1);
      await spend(store, two.key, 'b,"c"', 2_000_000);
      await spend(store, two.key, 'a', 0);
    });
    const today = utcDayOf(Date.now());
    const counts = (requests: number) => ({
      requests,
      inputTokens: 10 * requests,
      cachedInputTokens: 4 * requests,
      cacheWriteTokens: 5 * requests,
      cacheWrite1hTokens: 2 * requests,
      outputTokens: 3 * requests,
      outputs: 0,
      errors: 0,
      cacheHits: 0,
    });
    const report = await json('usage', '--by', 'key,model,day', '--to', today);
    expect(report).toEqual({
      from: utcDayOf(Date.parse(today) - 29 * 86_400_000),
      to: today,
      by: ['key', 'model', 'day'],
      rows: [
        { key: 'one', keyId: one.id, model: 'a', day: today, ...counts(1), credits: 0.000001 },
        { key: 'one', keyId: one.id, model: 'b', day: today, ...counts(1), credits: 1.5 },
        { key: 'two', keyId: two.id, model: 'a', day: today, ...counts(1), credits: 0 },
        { key: 'two', keyId: two.id, model: 'b,"c"', day: today, ...counts(1), credits: 2 },
      ],
      total: { ...counts(4), credits: 3.500001 },
    });
    const { out, stderr } = await run('usage', '--by', 'account,team,day', '--to', today);
    expect(stderr).toBe(`usage from ${report['from' as never]} to ${today}, days of UTC\n`);
    expect(out.split('\n').map((line) => line.split(/ +/).join(' ').trim())).toEqual([
      'ACCOUNT TEAM DAY REQUESTS INPUT CACHED WRITE WRITE 1H OUTPUT HITS OUTPUTS ERRORS CREDITS',
      `ci - ${today} 2 20 8 10 4 6 0 0 0 2`,
      `ci crew ${today} 2 20 8 10 4 6 0 0 0 1.500001`,
      'total 4 40 16 20 8 12 0 0 0 3.500001',
      '',
    ]);
    const csv = await run('usage', '--by', 'team,key,model', '--csv');
    expect(csv.out).toBe(
      [
        'team,team_id,key,key_id,model,requests,input_tokens,cached_input_tokens,cache_write_tokens,cache_write_1h_tokens,output_tokens,cache_hits,outputs,errors,credits',
        `,,two,${two.id},a,1,10,4,5,2,3,0,0,0,0`,
        `,,two,${two.id},"b,""c""",1,10,4,5,2,3,0,0,0,2`,
        `crew,${teamId},one,${one.id},a,1,10,4,5,2,3,0,0,0,0.000001`,
        `crew,${teamId},one,${one.id},b,1,10,4,5,2,3,0,0,0,1.5`,
        '',
      ].join('\n'),
    );
    const totals = async (...args: string[]) => (await json('usage', ...args)).total['credits'];
    expect(await totals('--team', 'crew')).toBe(1.500001);
    expect(await totals('--key', two.key, '--model', 'a')).toBe(0);
    expect(await totals('--account', 'ci', '--model', 'b')).toBe(1.5);
    expect(await totals('--to', '2020-01-01')).toBe(0);
    // Charges stay with the team in which the key was.
    await json('keys', 'set', one.id, '--team', 'none');
    await json('teams', 'remove', 'crew');
    expect(await totals('--team', 'crew')).toBe(1.500001);
    const [spent] = await look((store) => store.listAccounts());
    expect(spent).toMatchObject({ spent: 3_500_001 });
  });

  it('usage is refused of what does not exist', async () => {
    const { run } = await withAccount(begin);
    for (const [message, args] of [
      [
        '--from: expected a day up to 2026-01-01, received 2026-01-02',
        words`--from 2026-01-02 --to 2026-01-01`,
      ],
      ['there is no account "nobody"', words`--account nobody`],
      ['there is no team "nobody"', words`--team nobody`],
      ['there is no such key; oriel keys list shows all', words`--key key_nobody`],
    ] as const) {
      const stderr = `oriel: ${message}\n`;
      expect(await run('usage', ...args)).toMatchObject({ status: 1, out: '', stderr });
    }
  });
});

describe('wrong usage', () => {
  const BUDGET = 'credits from 0.000001 to 1000000000 with at most six decimals, or none';
  const set = words`keys set key_x`;
  it.each<[named: string, expected: string, refused: string[][]]>([
    ['--budget', BUDGET, [words`${set} --budget 0`, [...set, '--budget=-1']]],
    ['--budget-day', BUDGET, [words`${set} --budget-day 1e3`, words`teams set x --budget-day=`]],
    [
      '--time-zone',
      'the name of a time zone, such as Europe/Berlin or UTC',
      [words`${set} --time-zone +01:00`, words`${set} --time-zone Mars`],
    ],
    [
      '--rpm',
      'an integer from 1 to 1000000, or plan',
      [words`${set} --rpm 0`, words`${set} --rpm 1.5`],
    ],
    [
      '<name>',
      '1 to 64 characters on one line that do not begin like a flag or an id; not none',
      [
        words`teams create none --account ci`,
        words`teams create team_x --account ci`,
        ['teams', 'create', '', '--account', 'ci'],
      ],
    ],
    [
      '--by',
      'one or more of account, team, key, model, day and tag:NAME, separated by commas',
      [words`usage --by week`, words`usage --by key,key`, words`usage --by=`],
    ],
    [
      '--from',
      'a date such as 2026-01-31',
      [words`usage --from 7d`, words`usage --from 2026-02-30`],
    ],
  ])('of %s is reported', async (named, expected, refused) => {
    const data = join(temporaryFolder(), 'data');
    for (const args of refused) {
      const { status, out, stderr } = await resident([...args, '--data', data]);
      expect({ status, out }).toEqual({ status: 2, out: '' });
      expect(stderr).toMatch(`oriel: ${named}: expected ${expected}, received `);
    }
  });
});

it('acts on teams and keys are in the audit log, without keys', async () => {
  const data = join(temporaryFolder(), 'data');
  const run = async (...args: string[]) => {
    const { status, out } = await resident([...args, '--data', data]);
    expect(status).toBe(0);
    return out.trim();
  };
  await run('accounts', 'create', 'ci');
  const team = await run('teams', 'create', 'crew', '--account', 'ci', '--budget-week', '3');
  const key = await run('keys', 'create', '--account', 'ci');
  await run('keys', 'set', key, '--team', 'crew', '--budget', 'none', '--expires', 'never');
  const acts = JSON.parse(await run('audit', '--json')).acts as { act: string; details: object }[];
  expect(acts.slice(-3)).toMatchObject([
    { act: 'teams.create', object: team, details: { account: 'ci', name: 'crew', budgetWeek: 3 } },
    { act: 'keys.create' },
    {
      act: 'keys.set',
      result: 'done',
      details: { team: 'crew', budget: 'none', expires: 'never' },
    },
  ]);
  for (const file of filesBelow(data)) {
    expect(readFileSync(join(data, file), 'latin1')).not.toContain(key);
  }
});
