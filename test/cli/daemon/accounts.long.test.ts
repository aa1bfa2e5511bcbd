import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { AccountRecord, KeyRecord } from '../../../src/administration/records.ts';
import { ADMIN_COMMANDS } from '../../../src/administration/registry.ts';
import { hashOf } from '../../../src/store/key.ts';
import { oriel, shell, temporaryFolder, words } from '../../oriel.ts';
import { residentCommand } from '../../resident.ts';
import { filesBelow } from '../folder.ts';
import { adminPlaces } from './admin-place.ts';

const resident = residentCommand();

/** The JSON of any command. */
type Printed = AccountRecord &
  KeyRecord & {
    readonly key: string;
    readonly keys: readonly KeyRecord[];
    readonly accounts: readonly AccountRecord[];
  };

const NAMED = '1 to 64 characters on one line that do not begin like a flag or an id';
const CREDITS = 'to 1000000000 with at most six decimals';
const EXPIRES = 'a future time such as 2027-01-31, 2027-01-31T12:00:00Z or 90d, or never';

describe.each(adminPlaces<Printed>(resident))('%s', (_, begin) => {
  it('accounts are created, shown, granted credits and put on plans', async () => {
    const { json, run } = await begin();
    const made = await json('accounts', 'create', 'ci', '--plan', 'paid', '--credits', '12.5');
    expect(made).toEqual({
      id: expect.stringMatching(/^acct_/),
      name: 'ci',
      plan: 'paid',
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      credits: { granted: 12.5, reserved: 0, spent: 0, available: 12.5 },
    });
    await json('accounts', 'create', 'plain');
    const granted = await json('accounts', 'grant', 'ci', '0.000001', '--note', 'invoice 7');
    const credits = { granted: 12.500001, reserved: 0, spent: 0, available: 12.500001 };
    expect(granted).toEqual({ ...made, credits });
    expect(await json('accounts', 'set-plan', made.id, 'free')).toMatchObject({ plan: 'free' });
    expect(await json('accounts', 'list')).toMatchObject({
      accounts: [
        { name: 'ci', plan: 'free', credits },
        { name: 'plain', plan: 'free', credits: { granted: 0 } },
      ],
    });
    await json('keys', 'create', '--account', 'ci');
    expect(await json('accounts', 'show', 'ci')).toEqual({
      ...granted,
      plan: 'free',
      keys: [expect.objectContaining({ account: 'ci', status: 'active' })],
      hasMoreKeys: false,
    });
    const { out } = await run('accounts', 'show', 'ci');
    expect(out).toMatch(/^NAME +PLAN .*\nci +free +12\.500001 .*\n\nID .*\nkey_\w+ +ci +unnamed /);
  });

  it('a new key is printed alone to standard output, and is valid', async () => {
    const { json, run, look } = await begin();
    await json('accounts', 'create', 'ci');
    const { status, out, stderr } = await run(...words`keys create --account ci`);
    expect(status).toBe(0);
    expect(out).toMatch(/^sk-oriel-\w{43}\n$/);
    expect(stderr).toMatch(/^key key_\w+ \(unnamed\) of account ci; it is shown this once\n$/);
    expect(await look((store) => store.findKey(hashOf(out.trim())))).toMatchObject({
      account: { name: 'ci' },
      key: { expiresAt: null, models: null, rpm: null, budget: null },
    });
  });

  it('a key has the limits that it was created with', async () => {
    const { json, run, look } = await begin();
    const { id } = await json('accounts', 'create', 'ci');
    const before = Date.now();
    const { out, stderr } = await run(
      ...words`keys create --json --account ${id} --name builds@ci --expires 90d`,
      ...words`--models ${'sandbox-chat, vendor/model:1,sandbox-chat'} --rpm 60 --budget 2.5`,
    );
    const after = Date.now();
    expect(stderr).toBe('oriel: warning: the configuration has no model "vendor/model:1"\n');
    const made = JSON.parse(out) as Printed;
    expect(made).toEqual({
      id: expect.stringMatching(/^key_/),
      account: 'ci',
      name: 'builds@ci',
      team: null,
      hint: expect.stringMatching(/^sk-oriel-.{4}….{4}$/),
      status: 'active',
      createdAt: expect.any(String),
      expiresAt: expect.any(String),
      revokedAt: null,
      models: ['sandbox-chat', 'vendor/model:1'],
      rpm: 60,
      budget: { granted: 2.5, reserved: 0, spent: 0, available: 2.5 },
      windows: [],
      key: expect.stringMatching(/^sk-oriel-/),
    });
    const days = 90 * 86_400_000;
    expect(Date.parse(made.expiresAt!)).toBeGreaterThanOrEqual(before + days);
    expect(Date.parse(made.expiresAt!)).toBeLessThanOrEqual(after + days);
    expect(await look((store) => store.listKeys())).toMatchObject([
      { rpm: 60, budget: 2_500_000, expiresAt: Date.parse(made.expiresAt!) },
    ]);
    const { key: _, ...kept } = made;
    expect(await json('keys', 'list', '--account', 'ci')).toEqual({ keys: [kept], hasMore: false });
  });

  it('the callback secret is printed alone', async () => {
    const { json, run, look, log } = await begin();
    await json('accounts', 'create', 'ci');
    const { callbackSecret } = (await look((store) => store.findAccount('ci')))!;
    const { status, out, stderr } = await run('accounts', 'callback-secret', 'ci');
    expect({ status, out, stderr }).toEqual({ status: 0, out: `${callbackSecret}\n`, stderr: '' });
    expect(await json('accounts', 'callback-secret', 'ci')).toMatchObject({
      name: 'ci',
      secret: callbackSecret,
    });
    expect(log()).not.toContain(callbackSecret);
    expect((await run('accounts', 'callback-secret', 'none')).status).toBe(1);
    const rotated = await run('accounts', 'rotate-callback-secret', 'ci');
    expect(rotated.out).toMatch(/^whsec_\S+\n$/);
    expect(rotated.out).not.toBe(out);
    expect(rotated.stderr).toContain('with the old secret as well');
    expect((await run('accounts', 'callback-secret', 'ci')).out).toBe(rotated.out);
  });

  it('keys are listed by account', async () => {
    const { json } = await begin();
    for (const name of ['one', 'two']) {
      await json('accounts', 'create', name);
      await json('keys', 'create', '--account', name);
    }
    expect(await json('keys', 'list')).toMatchObject({
      keys: [{ account: 'one' }, { account: 'two' }],
    });
    const { keys } = await json('keys', 'list', '--account', 'two');
    expect(keys).toMatchObject([{ account: 'two' }]);
  });

  it('a key is revoked by its id, a prefix of the id, its hint, or the key', async () => {
    const { json, run } = await begin();
    await json('accounts', 'create', 'ci');
    const ways: ((made: Printed) => string)[] = [
      ({ id }) => id,
      ({ id }) => id.slice(0, 12),
      ({ hint }) => hint,
      ({ key }) => key,
    ];
    for (const way of ways) {
      const made = await json('keys', 'create', '--account', 'ci');
      const { status, out, stderr } = await run('keys', 'revoke', way(made));
      expect({ status, out }).toEqual({ status: 0, out: '' });
      expect(stderr).toBe(`key ${made.id} (unnamed) of account ci is revoked\n`);
    }
    const { keys } = await json('keys', 'list');
    expect(keys.map(({ status }) => status)).toEqual(ways.map(() => 'revoked'));
    const [first] = keys;
    expect(await json('keys', 'revoke', first!.id)).toMatchObject({ revokedAt: first!.revokedAt });
  });

  it('a key is not revoked by a short prefix or an unknown text', async () => {
    const { json, run, look } = await begin();
    await json('accounts', 'create', 'ci');
    await json('keys', 'create', '--account', 'ci');
    for (const text of ['k', 'key_', 'key_nobody', 'unnamed', 'sk-oriel-', '*', '…', '__proto__']) {
      const { status, stderr } = await run('keys', 'revoke', text);
      expect({ status, stderr }).toEqual({
        status: 1,
        stderr: 'oriel: there is no such key; oriel keys list shows all\n',
      });
    }
    expect(await look((store) => store.listKeys())).toMatchObject([{ revokedAt: null }]);
  });

  it('a hint of two keys is refused as ambiguous', async () => {
    const { json, run, look } = await begin();
    const { id } = await json('accounts', 'create', 'ci');
    const alike = { accountId: id, hint: 'same…hint', ...UNBOUND };
    await look((store) => store.createKey({ ...alike, name: 'one', hash: hashOf('one') }));
    await look((store) => store.createKey({ ...alike, name: 'two', hash: hashOf('two') }));
    const { status, stderr } = await run('keys', 'revoke', 'same…hint');
    expect(status).toBe(1);
    expect(stderr).toMatch(/^oriel: that may be any of key_\w+, key_\w+; name one of them\n$/);
  });

  it('no secret is in output, log or files', async () => {
    const { json, run, look, data, log } = await begin();
    await json('accounts', 'create', 'ci', '--credits', '1');
    const key = (await run('keys', 'create', '--account', 'ci')).out.trim();
    const second = await json('keys', 'create', '--account', 'ci');
    await run('keys', 'revoke', second.key);
    await run('keys', 'revoke', `${key}x`);
    const account = await look((store) => store.findAccount('ci'));
    const printed = await Promise.all(
      [['accounts', 'list'], words`accounts show ci`, ['keys', 'list']].flatMap((args) => [
        run(...args),
        run(...args, '--json'),
      ]),
    );
    const said = printed.map(({ out, stderr }) => out + stderr).join('');
    for (const secret of [account!.callbackSecret, hashOf(key), hashOf(second.key)]) {
      expect(said).not.toContain(secret);
      expect(log()).not.toContain(secret);
    }
    expect(filesBelow(data).length).toBeGreaterThan(0);
    const kept = filesBelow(data).map((file) => readFileSync(join(data, file), 'latin1'));
    for (const secret of [key, second.key]) {
      expect(said).not.toContain(secret);
      expect(log()).not.toContain(secret);
      expect(kept.filter((content) => content.includes(secret))).toEqual([]);
    }
  });

  it('unknown and taken names are refused', async () => {
    const { json, run } = await begin();
    await json('accounts', 'create', 'ci');
    for (const [message, args] of [
      ['there is no account "nobody"', words`accounts show nobody`],
      ['there is no account "nobody"', words`accounts grant nobody 1`],
      ['there is no account "nobody"', words`accounts set-plan nobody free`],
      ['there is no account "nobody"', words`keys create --account nobody`],
      ['there is no account "nobody"', words`keys list --account nobody`],
      ['there is no account "__proto__"', words`accounts show __proto__`],
      ['there is no account "constructor"', words`accounts show constructor`],
      ['there is no account "\\u001b[31m"', ['accounts', 'show', '\u001b[31m']],
      ['there is no account "../ci"', words`accounts show ../ci`],
      ['there is an account "ci" already', words`accounts create ci`],
    ] as const) {
      const stderr = `oriel: ${message}\n`;
      expect(await run(...args)).toMatchObject({ status: 1, out: '', stderr });
    }
  });

  it('a grant beyond the maximum of credits is refused', async () => {
    const { json, run } = await begin();
    await json('accounts', 'create', 'ci', '--credits', '1000000000');
    const { status, stderr } = await run('accounts', 'grant', 'ci', '0.000001');
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr:
        'oriel: <credits>: the account has had 1000000000; expected at most 1000000000 in all\n',
    });
    expect(await json('accounts', 'show', 'ci')).toMatchObject({ credits: { granted: 1e9 } });
  });

  it('names of object properties are valid names', async () => {
    const { json } = await begin();
    const names = ['constructor', 'toString', 'hasOwnProperty', '0', 'a'.repeat(64), 'A@b.c-d_e'];
    for (const name of names) await json('accounts', 'create', name);
    for (const name of names) expect(await json('accounts', 'show', name)).toMatchObject({ name });
  });

  it('concurrent grants of several processes add up exactly', async () => {
    const { json, data } = await begin();
    await json('accounts', 'create', 'ci');
    const grants = Array.from({ length: 3 }, (_, index) => `${index + 1}.000001`);
    const runs = await Promise.all(
      grants.map((amount) => oriel(words`accounts grant ci ${amount} --data ${data}`)),
    );
    expect(runs.map(({ status, stderr }) => [status, stderr])).toEqual(
      runs.map(() => [0, expect.stringMatching(/^account ci has [\d.]+ credits to spend\n$/)]),
    );
    expect(await json('accounts', 'show', 'ci')).toMatchObject({ credits: { granted: 6.000003 } });
  });
});

const UNBOUND = { expiresAt: null, models: null, rpm: null, budget: null };

describe('wrong usage', () => {
  const create = ['accounts', 'create'];
  const grant = words`accounts grant ci`;
  const key = words`keys create --account ci`;
  it.each<[named: string, expected: string, refused: string[][]]>([
    [
      '<name>',
      NAMED,
      ['', ' ', ' a', 'a ', 'a\nb', 'a\u202eb', 'acct_x', 'x'.repeat(65)].map((name) => {
        return [...create, name];
      }),
    ],
    ['--plan', 'one of free, paid', [words`${create} ci --plan gold`]],
    [
      '--credits',
      `credits from 0 ${CREDITS}`,
      ['', '-1', '1e3', '0.0000001', '1000000000.1', 'NaN', '1,5'].map((sum) => [
        ...[...create, 'ci'],
        `--credits=${sum}`,
      ]),
    ],
    [
      '<credits>',
      `credits from 0.000001 ${CREDITS}`,
      ['0', '0.0', 'all', '1e1'].map((sum) => [...grant, sum]),
    ],
    [
      '--note',
      '1 to 200 characters on one line',
      [
        words`${grant} 1 --note=`,
        [...grant, '1', '--note', 'a\nb'],
        [...grant, '1', '--note', 'x'.repeat(201)],
      ],
    ],
    ['<plan>', 'one of free, paid', [words`accounts set-plan ci gold`]],
    ['--account', 'the name or the id of an account', [['keys', 'create']]],
    ['--name', NAMED, [[...key, '--name', 'a\nb']]],
    [
      '--expires',
      EXPIRES,
      ['', '2020-01-01', 'tomorrow', '2027-02-30', '0d', '90'].map((time) => [
        ...key,
        `--expires=${time}`,
      ]),
    ],
    [
      '--models',
      'names of models, separated by commas, or all',
      ['', ',', 'a,,b', 'a b'].map((list) => [...key, `--models=${list}`]),
    ],
    [
      '--rpm',
      'an integer from 1 to 1000000',
      ['0', '-1', '1.5', '1000001'].map((rpm) => [...key, `--rpm=${rpm}`]),
    ],
    ['--budget', `credits from 0.000001 ${CREDITS}, or none`, [words`${key} --budget 0`]],
    [
      '<id>',
      'the id of a key or its beginning, its hint, or the key itself',
      [['keys', 'revoke', '']],
    ],
    ['--data', 'a folder', [words`accounts list --data=`]],
    ['--config', 'a file', [words`accounts list --config=`]],
  ])('of %s is reported, and no store is created', async (named, expected, refused) => {
    const data = join(temporaryFolder(), 'data');
    const runs = await Promise.all(
      refused.map((args) => resident(args.includes('--data=') ? args : [...args, '--data', data])),
    );
    for (const { status, out, stderr } of runs) {
      expect({ status, out }).toEqual({ status: 2, out: '' });
      const isMissing = stderr.includes(' is required: ');
      const start = isMissing
        ? `oriel: ${named} is required: ${expected}`
        : `oriel: ${named}: expected ${expected}, received `;
      expect(stderr.slice(0, start.length)).toBe(start);
    }
    expect(existsSync(data)).toBe(false);
  });

  it.each([
    [['accounts'], 'Usage: oriel accounts'],
    [['accounts', 'destroy'], "unknown command 'destroy'"],
    [['accounts', 'create'], "missing required argument 'name'"],
    [words`accounts create a b`, 'too many arguments'],
    [words`accounts list --plan free`, "unknown option '--plan'"],
    [['keys', 'revoke'], "missing required argument 'id'"],
  ])('%j', async (args, message) => {
    const { status, out, stderr } = await resident(args, { cwd: temporaryFolder() });
    expect({ status, out }).toEqual({ status: 2, out: '' });
    expect(stderr).toContain(message);
  });
});

it('the examples in the help succeed in their order', async () => {
  const cwd = temporaryFolder();
  const examples = ADMIN_COMMANDS.flatMap((verb) => verb.examples);
  expect(examples.length).toBeGreaterThan(0);
  for (const example of examples) {
    const isPlain = !/[$|<>;&\\']/.test(example);
    const args = Array.from(example.matchAll(/"([^"]*)"|\S+/g), ([word, quoted]) => quoted ?? word);
    const run = isPlain ? resident(args, { cwd }) : shell(`oriel ${example}`, { cwd });
    const { status, stderr } = await run;
    expect([example, status, stderr]).toEqual([example, 0, expect.not.stringMatching(/^oriel:/)]);
  }
});

it('a script can store a key in a variable', async () => {
  const cwd = temporaryFolder();
  const { status, out, stderr } = await shell(
    'set -e; oriel accounts create ci; KEY=$(oriel keys create --account ci); echo "<$KEY>"',
    { cwd },
  );
  expect(status).toBe(0);
  expect(out).toMatch(/^<sk-oriel-\w{43}>\n$/);
  expect(stderr).toContain('it is shown this once');
});

describe('the store of a command', () => {
  it('must exist, except for accounts create', async () => {
    const data = join(temporaryFolder(), 'data');
    for (const args of [['accounts', 'list'], words`accounts grant ci 1`, ['keys', 'list']]) {
      const { status, stderr } = await resident([...args, '--data', data]);
      expect({ status, stderr }).toEqual({
        status: 1,
        stderr: `oriel: ${data}: there is no store of Oriel\n`,
      });
    }
    expect(existsSync(data)).toBe(false);
  });

  it('is that of the configuration, or of --data', async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'oriel.yaml'), 'dataDir: ./mine\n');
    writeFileSync(join(cwd, 'other.yaml'), 'dataDir: ./others\n');
    const runs = [
      await resident(words`accounts create one`, { cwd }),
      await resident(words`accounts create two --config other.yaml`, { cwd }),
      await resident(words`accounts create three`, { cwd, env: { ORIEL_CONFIG: 'other.yaml' } }),
      await resident(words`accounts create four --data third`, { cwd }),
    ];
    expect(runs.map(({ status }) => status)).toEqual([0, 0, 0, 0]);
    const names = async (data: string) => {
      const { out } = await resident(words`accounts list --json --data ${data}`, { cwd });
      return (JSON.parse(out) as { accounts: { name: string }[] }).accounts.map(({ name }) => name);
    };
    expect([await names('mine'), await names('others'), await names('third')]).toEqual([
      ['one'],
      ['two', 'three'],
      ['four'],
    ]);
  });

  it('is found without the environment variables of other settings', async () => {
    const cwd = temporaryFolder();
    const settings = {
      dataDir: '${FOLDER}',
      server: { port: '${PORT}' },
      metrics: { token: '${TOKEN}' },
      providers: { p: { kind: 'openai', baseUrl: '${URL}', apiKey: '${SECRET}' } },
      models: { m: { type: 'text', routes: [{ provider: 'p', model: '${MODEL}' }] } },
    };
    writeFileSync(join(cwd, 'oriel.yaml'), JSON.stringify(settings));
    const run = (env: Record<string, string>, ...args: string[]) => resident(args, { cwd, env });
    const made = await run({ FOLDER: 'mine' }, 'accounts', 'create', 'one');
    expect(made).toMatchObject({ status: 0 });
    const key = await run({ FOLDER: 'mine' }, 'keys', 'create', '--account', 'one');
    expect(key).toMatchObject({ status: 0 });
    expect(existsSync(join(cwd, 'mine', 'store'))).toBe(true);

    const lost = await run({}, 'keys', 'list');
    expect(lost.status).toBe(1);
    expect(lost.stderr.split('\n').slice(0, -1)).toEqual([
      expect.stringContaining('dataDir: the environment variable FOLDER is not set'),
    ]);
    writeFileSync(join(cwd, 'oriel.yaml'), JSON.stringify({ ...settings, dataDri: 'mine' }));
    const slip = await run({ FOLDER: 'mine' }, 'keys', 'list');
    expect(slip).toMatchObject({ status: 1, stderr: expect.stringContaining('dataDri: unknown') });
  });

  it('is not opened where the configuration is invalid', async () => {
    const cwd = temporaryFolder();
    const { status, stderr } = await resident(words`accounts list --config none.yaml`, { cwd });
    expect(status).toBe(1);
    expect(stderr).toContain('none.yaml');
  });
});
