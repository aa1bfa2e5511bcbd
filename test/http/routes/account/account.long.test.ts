import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { KeyRecord } from '../../../../src/administration/records.ts';
import { sharedDaemon } from '../../../daemon.ts';
import { administrator } from '../../../resident.ts';

const daemon = sharedDaemon({ config: { owner: { credits: 12.5 } } });
const administer = administrator(daemon);

async function get(path: string, key?: string) {
  const init = key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } };
  const response = await daemon().request(path, init);
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

describe('GET /v1/account', () => {
  it('has plan, credits in decimals, limits and the key in use', async () => {
    const { status, body } = await get('/v1/account');
    expect(status).toBe(200);
    expect(body).toEqual({
      object: 'account',
      id: expect.stringMatching(/^acct_/),
      name: 'owner',
      plan: 'paid',
      created: expect.closeTo(Date.now() / 1000, -2),
      credits: { granted: 12.5, reserved: 0, spent: 0, available: 12.5 },
      limits: { requests_per_minute: 600 },
      key: {
        id: expect.stringMatching(/^key_/),
        name: 'bootstrap',
        expires: null,
        models: null,
        budget: null,
        windows: [],
        team: null,
      },
    });
  });

  it('has the limits of a key of another account', async () => {
    await administer('accounts', 'create', 'guest');
    const flags = ['--rpm', '7', '--budget', '0.5', '--models', 'sandbox-chat', '--expires', '1d'];
    const key = await administer('keys', 'create', '--account', 'guest', '--name', 'ci', ...flags);
    const { body } = await get('/v1/account', key);
    expect(body).toMatchObject({
      name: 'guest',
      plan: 'free',
      credits: { granted: 0, available: 0 },
      limits: { requests_per_minute: 7 },
      key: {
        name: 'ci',
        expires: expect.closeTo(Date.now() / 1000 + 86_400, -2),
        models: ['sandbox-chat'],
        budget: { granted: 0.5, reserved: 0, spent: 0 },
      },
    });
    const models = await get('/v1/models', key);
    expect((models.body['data'] as { id: string }[]).map(({ id }) => id)).toEqual(['sandbox-chat']);
    expect((await get('/v1/models/sandbox-chat', key)).status).toBe(200);
    expect(await get('/v1/models/sandbox-image', key)).toMatchObject({
      status: 404,
      body: { error: { code: 'model_not_found' } },
    });
  });

  it('refuses a revoked key at once, and follows a change of plan', async () => {
    await administer('accounts', 'create', 'changing', '--plan', 'paid');
    const key = await administer('keys', 'create', '--account', 'changing');
    expect((await get('/v1/account', key)).status).toBe(200);
    await administer('accounts', 'set-plan', 'changing', 'free');
    expect((await get('/v1/account', key)).body).toMatchObject({
      plan: 'free',
      limits: { requests_per_minute: 20 },
    });
    const batch = await daemon().request('/api/free/batch-image-hash', {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: new FormData(),
    });
    expect(batch.status).toBe(403);
    expect(await batch.json()).toMatchObject({ error: { code: 'paid_account_required' } });
    await administer('keys', 'revoke', key);
    expect(await get('/v1/account', key)).toMatchObject({
      status: 401,
      body: { error: { type: 'auth_error', code: 'revoked_api_key' } },
    });
  });

  it('refuses an expired key', async () => {
    await administer('accounts', 'create', 'short');
    const key = await administer('keys', 'create', '--account', 'short', '--expires', '1s');
    const listed = async () => {
      const list = await administer('keys', 'list', '--account', 'short', '--json');
      return (JSON.parse(list) as { keys: [KeyRecord] }).keys[0];
    };
    const { expiresAt } = await listed();
    await delay(Date.parse(expiresAt!) + 1 - Date.now());
    expect(await get('/v1/account', key)).toMatchObject({
      status: 401,
      body: { error: { type: 'auth_error', code: 'expired_api_key' } },
    });
    expect(await listed()).toMatchObject({ status: 'expired' });
  });
});

describe('GET /v1/account/credits', () => {
  it('pages through the ledger, newest first', async () => {
    for (const note of ['one', 'two', 'three']) {
      await administer('accounts', 'grant', 'owner', '1', '--note', note);
    }
    const first = await get('/v1/account/credits?limit=2');
    expect(first.body).toMatchObject({ has_more: true });
    const page = first.body['data'] as { id: number; note: string; amount: number }[];
    expect(page.map(({ note, amount }) => [note, amount])).toEqual([
      ['three', 1],
      ['two', 1],
    ]);
    const rest = await get(`/v1/account/credits?after=${page[1]!.id}`);
    expect(rest.body).toMatchObject({
      has_more: false,
      data: [
        { type: 'grant', note: 'one', amount: 1, available: 13.5 },
        { type: 'grant', note: null, amount: 12.5, available: 12.5 },
      ],
    });
  });

  it.each([
    ['limit=0', 'limit: expected an integer from 1 to 100, received 0'],
    ['limit=many', 'limit: expected an integer from 1 to 100, received "many"'],
    ['limit=1&limit=2', 'limit: expected an integer from 1 to 100, received ["1","2"]'],
    ['after=-1', 'after: expected an integer of at least 0, received -1'],
    ['page=2', 'page: unknown; expected one of limit, after'],
  ])('refuses ?%s', async (query, message) => {
    const param = message.split(':')[0];
    expect(await get(`/v1/account/credits?${query}`)).toEqual({
      status: 400,
      body: { error: { type: 'invalid_request', message, param, code: null } },
    });
  });
});

describe('GET /v1/account/usage', () => {
  it('sums requests and outputs by day or by model', async () => {
    const send = async () => {
      const form = new FormData();
      form.append('files', new Blob(['some bytes']), 'a');
      form.append('files', new Blob(['other bytes']), 'b');
      return daemon().request('/api/free/batch-image-hash', { method: 'POST', body: form });
    };
    for (const response of [await send(), await send()]) expect(response.status).toBe(200);
    const counts = {
      requests: 2,
      outputs: 4,
      input_tokens: 0,
      cached_input_tokens: 0,
      cache_write_tokens: 0,
      cache_write_1h_tokens: 0,
      cache_hits: 0,
      output_tokens: 0,
      errors: 0,
      credits: 0,
    };
    const byModel = await get('/v1/account/usage?by=model');
    expect(byModel.body).toEqual({
      object: 'list',
      data: [{ model: 'batch-image-hash', ...counts }],
    });
    const byDay = await get('/v1/account/usage');
    expect(byDay.body).toEqual({
      object: 'list',
      data: [{ day: expect.stringMatching(/^\d{4}-\d\d-\d\d$/), ...counts }],
    });
    expect((await get('/v1/account/usage?to=2020-01-01')).body).toMatchObject({ data: [] });
  });
});

describe('tasks', () => {
  it('are not found if there are none', async () => {
    expect(await get('/v1/tasks')).toEqual({
      status: 200,
      body: { object: 'list', data: [], has_more: false },
    });
    expect(await get('/v1/tasks/task_unknown')).toMatchObject({
      status: 404,
      body: { error: { type: 'invalid_request', code: 'task_not_found', param: 'task_id' } },
    });
    expect(await get('/v1/tasks?status=done')).toMatchObject({
      status: 400,
      body: { error: { param: 'status' } },
    });
  });
});
