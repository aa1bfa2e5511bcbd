import { describe, expect, it } from 'vitest';
import { OWNER_KEY, sharedDaemon } from '../../daemon.ts';
import { administrator } from '../../resident.ts';

const daemon = sharedDaemon({ config: { owner: { credits: 100 } } });
const administer = administrator(daemon);

interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly body: Record<string, never> & { readonly error: Record<string, string> };
}

async function call(key: string, path: string, body?: object): Promise<Answer> {
  const response = await daemon().send(path, body, { key });
  const retryAfter = response.headers.get('retry-after');
  return { status: response.status, retryAfter, body: (await response.json()) as Answer['body'] };
}

let accounts = 0;

/** A key of a new account with ten credits. */
async function newKey(...flags: string[]): Promise<{ account: string; key: string }> {
  accounts += 1;
  const account = `account-${accounts}`;
  await administer('accounts', 'create', account, '--plan', 'paid', '--credits', '10');
  return { account, key: await administer('keys', 'create', '--account', account, ...flags) };
}

const chat = (key: string) =>
  call(key, '/v1/chat/completions', {
    model: 'sandbox-chat',
    messages: [{ role: 'user', content: 'Hello' }],
    max_tokens: 1000,
  });
const IMAGE = { model: 'sandbox-image', prompt: 'a lighthouse', size: '1024x1024' };

describe('a key with a daily budget', () => {
  it('is refused by every endpoint that costs, with the budget, its limit and its reset', async () => {
    const zone = ['--time-zone', 'Pacific/Kiritimati'];
    const { key } = await newKey('--name', 'builds', '--budget-day', '0.05', ...zone);
    expect((await chat(key)).status).toBe(200);
    const created = await call(key, '/v1/images/generations', IMAGE);
    expect(created.status).toBe(202);
    for (const [path, body] of [
      ['/v1/images/generations', IMAGE],
      ['/v1/images/generations/sync', IMAGE],
      ['/v1/videos/generations', { model: 'sandbox-video', prompt: 'a lighthouse' }],
      [
        '/v1/chat/completions',
        {
          model: 'sandbox-chat',
          max_tokens: 10,
          messages: [{ role: 'user', content: 'x'.repeat(10_000) }],
        },
      ],
      [
        '/v1/messages',
        { model: 'sandbox-chat', max_tokens: 9000, messages: [{ role: 'user', content: 'x' }] },
      ],
    ] as const) {
      const { status, retryAfter, body: refusal } = await call(key, path, body);
      expect([path, status, refusal.error]).toMatchObject([path, 402, {}]);
      const { message } = refusal.error;
      expect(message).toMatch(
        /the daily budget of 0\.05 credits of key builds has 0\.0\d+ left until it resets at [-\dT:.]+Z \(the next day of Pacific\/Kiritimati\)$/,
      );
      const reset = Date.parse(/resets at (\S+)/.exec(message!)![1]!);
      // Kiritimati is 14 hours ahead of UTC all year.
      expect(new Date(reset).toISOString()).toMatch(/T10:00:00\.000Z$/);
      // A video costs more than the whole budget, on any day.
      if (path.includes('videos')) expect(retryAfter).toBeNull();
      else expect(Number(retryAfter)).toBeCloseTo((reset - Date.now()) / 1000, -2);
    }
    const form = new FormData();
    form.append('files', new Blob(['some bytes']), 'a');
    const free = { method: 'POST', headers: { authorization: `Bearer ${key}` }, body: form };
    expect((await daemon().request('/api/free/batch-image-hash', free)).status).toBe(200);
    const { body } = await call(key, '/v1/account');
    expect(body).toMatchObject({
      key: {
        budget: null,
        windows: [{ period: 'day', time_zone: 'Pacific/Kiritimati', granted: 0.05 }],
        team: null,
      },
    });
  });

  it('is changed at once while the daemon runs', async () => {
    const { key } = await newKey('--budget-week', '0.01', '--models', 'sandbox-image');
    const send = () => call(key, '/v1/images/generations', IMAGE);
    expect((await send()).body.error).toMatchObject({ code: 'key_window_exceeded' });
    await administer('keys', 'set', key, '--budget-week', '0.05');
    expect((await send()).status).toBe(202);
    expect((await send()).status).toBe(402);
    await administer('keys', 'set', key, '--budget-week', 'none');
    expect((await send()).status).toBe(202);
    expect((await chat(key)).status).toBe(403);
    await administer('keys', 'set', key, '--models', 'all', '--rpm', '1');
    expect((await call(key, '/v1/account')).body).toMatchObject({
      limits: { requests_per_minute: 1 },
    });
  });
});

describe('a team', () => {
  it('has budgets for all its keys, and concurrent requests cannot exceed them', async () => {
    const { account, key } = await newKey();
    await administer('teams', 'create', 'crew', '--account', account, '--budget-month', '0.1');
    const other = await administer('keys', 'create', '--account', account, '--team', 'crew');
    await administer('keys', 'set', key, '--team', 'crew');
    const answers = await Promise.all(
      [key, other, key, other, key].map((one) => call(one, '/v1/images/generations', IMAGE)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([202, 202, 402, 402, 402]);
    const refused = answers.find(({ status }) => status === 402)!;
    expect(refused.body.error).toMatchObject({
      type: 'insufficient_quota',
      code: 'team_window_exceeded',
      message: expect.stringContaining(
        'the monthly budget of 0.1 credits of team crew has 0.02 left',
      ),
    });
    expect((await call(other, '/v1/account')).body).toMatchObject({
      key: { windows: [], team: { name: 'crew', windows: [{ period: 'month', granted: 0.1 }] } },
    });
  });
});

const DAYS = ['from=2026-02-30', 'from=2026-13-01', 'from=2026-1-1', 'from=today', 'from='];

describe('GET /v1/account/usage', () => {
  it('sums by key, team, model and day, for the account of the key alone', async () => {
    const { account, key } = await newKey('--name', 'one');
    await administer('teams', 'create', 'crew', '--account', account);
    const flags = ['--account', account, '--name', 'two', '--team', 'crew'];
    const other = await administer('keys', 'create', ...flags);
    for (const one of [key, other, other]) expect((await chat(one)).status).toBe(200);
    const usage = async (query: string, as = key) =>
      (await call(as, `/v1/account/usage?${query}`)).body['data'] as unknown as Record<
        string,
        string | number
      >[];
    const rows = await usage('by=key,team,model,day');
    expect(rows).toHaveLength(2);
    const [first, second] = rows.toSorted((a, b) => Number(a['requests']) - Number(b['requests']));
    const counts = { input_tokens: expect.any(Number), credits: expect.any(Number) };
    expect(first).toMatchObject({
      key_name: 'one',
      team_id: null,
      team_name: null,
      model: 'sandbox-chat',
      requests: 1,
      ...counts,
    });
    expect(second).toMatchObject({ key_name: 'two', team_name: 'crew', requests: 2, ...counts });
    expect(await usage('by=team&team=crew')).toMatchObject([{ team_name: 'crew', requests: 2 }]);
    expect(await usage(`key=${first!['key_id']}`)).toMatchObject([{ requests: 1 }]);
    expect(await usage('model=other')).toEqual([]);
    const { body } = await call(key, '/v1/account');
    const { spent } = body['credits'] as unknown as { spent: number };
    const sum = rows.reduce((total, row) => total + Number(row['credits']) * 1e6, 0);
    expect(Math.round(sum)).toBe(Math.round(spent * 1e6));
    const stranger = await newKey();
    expect(await usage('by=key', stranger.key)).toEqual([]);
    expect(await usage(`by=key&key=${first!['key_id']}`, stranger.key)).toEqual([]);
    expect(await usage('by=key&team=crew', stranger.key)).toEqual([]);
  });

  it('is sent as CSV on request', async () => {
    const { key } = await newKey('--name', 'sheet');
    expect((await chat(key)).status).toBe(200);
    const headers = { authorization: `Bearer ${key}` };
    const path = '/v1/account/usage?by=key,model&format=csv';
    const response = await daemon().request(path, { headers });
    expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    const [titles, row, ...rest] = (await response.text()).split('\n');
    expect(titles).toMatch(/^key,key_id,model,requests,input_tokens,.*,credits$/);
    expect(row).toMatch(/^sheet,key_\w+,sandbox-chat,1,\d+,0,0,0,\d+,0,0,0,0\.\d+$/);
    expect(rest).toEqual(['']);
    for (const [query, accept, type] of [
      ['', 'text/csv', 'text/csv'],
      ['', 'text/csv;q=0.9, text/plain', 'text/csv'],
      ['&format=json', 'text/csv', 'application/json'],
      ['', 'text/csv, application/json', 'application/json'],
      ['', '*/*', 'application/json'],
    ] as const) {
      const asked = await daemon().request(`/v1/account/usage?by=key,model${query}`, {
        headers: { ...headers, accept },
      });
      expect(asked.headers.get('content-type'), `${query} ${accept}`).toContain(type);
      expect(asked.headers.get('vary')).toBe('accept');
      await asked.text();
    }
  });

  it.each([...DAYS, 'format=xml', 'by=week', 'by=day,day', 'by=account', 'by=', 'key=', 'page=2'])(
    'refuses ?%s',
    async (query) => {
      const { status, body } = await call(OWNER_KEY, `/v1/account/usage?${query}`);
      expect([status, body.error['param']]).toEqual([400, query.split('=')[0]]);
    },
  );
});

describe('GET /v1/admin/usage', () => {
  const asOwner = (query: string) => call(OWNER_KEY, `/v1/admin/usage?${query}`);

  it('sums usage of all accounts for a key of the owner, as the command does', async () => {
    const { account, key } = await newKey('--name', 'app');
    const { account: other, key: second } = await newKey();
    for (const one of [key, key, second]) expect((await chat(one)).status).toBe(200);
    const { status, body } = await asOwner('by=account,model');
    expect(status).toBe(200);
    const data = body['data'] as unknown as Record<string, unknown>[];
    const rows = data.filter((row) => [account, other].includes(String(row['account_name'])));
    const counts = { cache_write_tokens: 0, cache_write_1h_tokens: 0, outputs: 0 };
    expect(rows).toMatchObject([
      { account_name: account, model: 'sandbox-chat', requests: 2, ...counts },
      { account_name: other, model: 'sandbox-chat', requests: 1, ...counts },
    ]);
    const report = JSON.parse(await administer('usage', '--json')) as {
      readonly total: Record<string, number>;
    };
    expect(body['total']).toMatchObject({
      requests: report.total['requests'],
      input_tokens: report.total['inputTokens'],
      credits: report.total['credits'],
    });
    const own = await asOwner(`by=key,day&account=${account}`);
    expect(own.body['data']).toMatchObject([{ key_name: 'app', requests: 2 }]);
    const [{ key_id: id }] = own.body['data'] as unknown as [{ key_id: string }];
    expect((await asOwner(`by=team&key=${id}`)).body).toMatchObject({
      data: [{ team_id: null, team_name: null, requests: 2 }],
    });
    expect((await asOwner('to=2020-01-01')).body).toMatchObject({ to: '2020-01-01', data: [] });
  });

  it('is refused to keys of other accounts and to limited keys of the owner', async () => {
    const { key } = await newKey();
    await administer('teams', 'create', 'staff', '--account', 'owner');
    const limited = [
      ['--models', 'sandbox-chat'],
      ['--budget', '5'],
      ['--budget-day', '5'],
      ['--team', 'staff'],
    ].map((flags) => administer('keys', 'create', '--account', 'owner', ...flags));
    for (const one of [key, ...(await Promise.all(limited))]) {
      const { status, body } = await call(one, '/v1/admin/usage');
      expect([status, body.error['code']]).toEqual([403, 'owner_required']);
    }
    const none = await fetch(`${daemon().url}/v1/admin/usage`);
    expect(none.status).toBe(401);
  });

  it.each([
    ['by=week', 400, 'by'],
    ['by=account,account', 400, 'by'],
    ['from=2026-01-02&to=2026-01-01', 400, 'from'],
    ['format=xml', 400, 'format'],
    ['account=missing', 404, null],
    ['team=missing', 404, null],
  ])('refuses ?%s', async (query, expected, param) => {
    const { status, body } = await asOwner(query);
    expect([status, body.error['param']]).toEqual([expected, param]);
  });
});
