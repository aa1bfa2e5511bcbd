import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { presetSource } from '../../../src/operations/recipe/presets.ts';
import type { AuditEntry } from '../../../src/store/audit/entry.ts';
import { sharedDaemon } from '../../daemon.ts';

const daemon = sharedDaemon();

interface Answer {
  readonly status: number;
  readonly body: {
    readonly result: Readonly<Record<string, unknown>>;
    readonly warnings: readonly string[];
    readonly error: {
      readonly code: string;
      readonly param: string | null;
      readonly message: string;
    };
  };
}

async function send(path: string, body?: object, key?: string): Promise<Answer> {
  const response = await daemon().send(path, body, { key });
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

/** Creates a key of an account, and returns it. */
async function newKey(options: object): Promise<string> {
  const { status, body } = await send('/v1/admin/keys/create', options);
  expect(status, JSON.stringify(body)).toBe(200);
  return String(body.result['key']);
}

let guest: string;
let limited: string;

beforeAll(async () => {
  await send('/v1/admin/accounts/create', { name: 'guest', plan: 'paid', credits: 5 });
  guest = await newKey({ account: 'guest' });
  limited = await newKey({ account: 'owner', models: ['sandbox-chat'] });
});

describe('administration commands over HTTP', () => {
  it('make a key with numbers, lists and snake_case names, and show it once', async () => {
    const budgets = { budget: 2.5, budget_day: '0.5', rpm: 9 };
    const options = { ...budgets, name: 'form', models: ['sandbox-chat', 'no-model'] };
    const created = await send('/v1/admin/keys/create', { account: 'guest', ...options });
    expect(created.body.result).toMatchObject({
      name: 'form',
      rpm: 9,
      models: ['sandbox-chat', 'no-model'],
      budget: { granted: 2.5, available: 2.5 },
      windows: [{ period: 'day', time_zone: 'UTC', granted: 0.5 }],
      created_at: expect.any(String),
      key: expect.stringMatching(/^sk-/),
    });
    expect(created.body.warnings).toEqual(['the configuration has no model "no-model"']);
    const key = String(created.body.result['key']);
    expect((await send('/v1/account', undefined, key)).status).toBe(200);
    const list = await send('/v1/admin/keys/list?account=guest');
    expect(JSON.stringify(list.body)).toContain(String(created.body.result['id']));
    expect(JSON.stringify(list.body)).not.toContain(key);
  });

  it('make a key without the settings that a word removes', async () => {
    const words = { expires: 'never', models: 'all', allow: 'none', cache: 'default' };
    const options = { account: 'guest', ...words, budget: 'none', team: 'none' };
    const { result, warnings } = (await send('/v1/admin/keys/create', options)).body;
    expect(result).toMatchObject({ expires_at: null, models: null, budget: null, team: null });
    expect([result['allow'], result['cache'], warnings]).toEqual([undefined, undefined, []]);
  });

  it('end a key at once', async () => {
    const key = await newKey({ account: 'guest', name: 'short' });
    const { keys } = (await send('/v1/admin/keys/list?account=guest')).body.result as {
      keys: { id: string; name: string }[];
    };
    const { id } = keys.find(({ name }) => name === 'short')!;
    const { body } = await send('/v1/admin/keys/revoke', { id });
    expect(body.result).toMatchObject({ id, status: 'revoked' });
    expect((await send('/v1/account', undefined, key)).body.error.code).toBe('revoked_api_key');
  });

  it('are in the audit log with the key that sent them', async () => {
    await send('/v1/admin/accounts/grant', { name: 'guest', credits: 1, note: 'over HTTP' });
    const log = readFileSync(join(daemon().data, 'audit', 'audit-000000000001.jsonl'), 'utf8');
    const lines = log
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as AuditEntry);
    const { id, key } = (await send('/v1/account')).body as unknown as Record<
      string,
      { id: string }
    >;
    expect(lines.at(-1)).toMatchObject({
      act: 'accounts.grant',
      object: 'guest',
      result: 'done',
      who: { user: null, key: key!.id, account: id, from: '127.0.0.1' },
    });
  });

  it('list accounts and keys in pages, in the order of creation', async () => {
    await send('/v1/admin/accounts/create', { name: 'page-1' });
    await send('/v1/admin/accounts/create', { name: 'page-2' });
    for (const name of ['page-1', 'page-2']) await newKey({ account: 'page-2', name });
    type Listed = { id: string; name: string }[];
    const all = (await send('/v1/admin/accounts/list')).body.result;
    expect(all['has_more']).toBe(false);
    const accounts = all['accounts'] as Listed;
    const first = await send('/v1/admin/accounts/list?limit=2');
    expect(first.body.result).toEqual({ accounts: accounts.slice(0, 2), has_more: true });
    const rest = await send(`/v1/admin/accounts/list?limit=1000&after=${accounts[1]!.id}`);
    expect(rest.body.result).toEqual({ accounts: accounts.slice(2), has_more: false });
    const page = await send('/v1/admin/keys/list?account=page-2&limit=1');
    const [key] = page.body.result['keys'] as Listed;
    expect([key!.name, page.body.result['has_more']]).toEqual(['page-1', true]);
    const next = await send(`/v1/admin/keys/list?account=page-2&limit=1&after=${key!.id}`);
    expect(next.body.result).toMatchObject({ keys: [{ name: 'page-2' }], has_more: false });
  });

  it('refuse a page that cannot be', async () => {
    for (const [query, status, param] of [
      ['limit=0', 400, 'limit'],
      ['limit=1001', 400, 'limit'],
      ['limit=x', 400, 'limit'],
      ['after=acct_x', 404, 'after'],
      ['after=', 400, 'after'],
    ] as const) {
      const refused = await send(`/v1/admin/accounts/list?${query}`);
      expect([refused.status, refused.body.error.param], query).toEqual([status, param]);
    }
  });

  it('have their results in the OpenAPI document', async () => {
    const { paths } = (await (await daemon().request('/openapi.json')).json()) as {
      paths: Record<string, Record<string, { responses: { 200: { content: object } } }>>;
    };
    const { 200: answer } = paths['/v1/admin/keys/list']!['get']!.responses;
    expect(answer.content).toMatchObject({
      'application/json': {
        schema: {
          properties: {
            result: {
              properties: {
                keys: { items: { properties: { expires_at: {} } } },
                has_more: { type: 'boolean' },
              },
              required: ['keys', 'has_more'],
            },
          },
        },
      },
    });
  });

  it('name the field at fault', async () => {
    for (const [param, value] of Object.entries({ budget_day: 'x', plan: 1 })) {
      const options = { account: 'guest', [param]: value };
      const refused = { status: 400, body: { error: { param } } };
      expect(await send('/v1/admin/keys/create', options)).toMatchObject(refused);
    }
    expect((await send('/v1/admin/keys/create', [])).status).toBe(400);
  });

  it('are refused to keys of other accounts, to limited keys and without a key', async () => {
    for (const key of [guest, limited]) {
      for (const [path, body] of [
        ['/v1/admin/accounts/list'],
        ['/v1/admin/accounts/create', { name: 'mine' }],
        ['/v1/admin/keys/create', { account: 'owner' }],
        ['/v1/admin/accounts/create', 'no options'],
        ['/v1/admin/usage'],
      ] as [string, object?][]) {
        const refused = await send(path, body, key);
        expect([refused.status, refused.body.error.code], path).toEqual([403, 'owner_required']);
      }
    }
    const response = await fetch(`${daemon().url}/v1/admin/accounts/list`);
    expect(response.status).toBe(401);
  });

  it('leave the details of /readyz to keys without limits', async () => {
    const seen = async (key?: string) => {
      const headers: Record<string, string> =
        key === undefined ? {} : { authorization: `Bearer ${key}` };
      const response = await daemon().request('/readyz', { headers });
      return 'upstreams' in ((await response.json()) as object);
    };
    expect(await seen()).toBe(true);
    expect(await seen(guest)).toBe(false);
    expect(await seen(limited)).toBe(false);
  });
});

describe('GET /v1/operations', () => {
  it('has the fields of each operation for a form', async () => {
    const response = await daemon().request('/v1/operations', {
      headers: { authorization: `Bearer ${guest}` },
    });
    const { data } = (await response.json()) as {
      data: { name: string; endpoint: string; over: string; fields: object[] }[];
    };
    const resize = data.find(({ name }) => name === 'resize')!;
    expect(resize.endpoint).toBe('/api/free/batch-resize-images');
    expect(resize.fields).toContainEqual({
      name: 'width',
      type: 'integer',
      required: false,
      repeatable: false,
      choices: null,
      minimum: 1,
      maximum: expect.any(Number),
      default: null,
      sample: expect.anything(),
      presets: null,
      description: expect.stringMatching(/./),
      expects: expect.stringMatching(/integer/),
    });
    const names = resize.fields.map((field) => (field as { name: string }).name);
    const { paths } = (await (await daemon().request('/openapi.json')).json()) as {
      paths: Record<
        string,
        { post: { requestBody: { content: Record<string, { schema: { properties: object } }> } } }
      >;
    };
    const { properties } =
      paths[resize.endpoint]!.post.requestBody.content['multipart/form-data']!.schema;
    expect(Object.keys(properties)).toEqual(['files', ...names]);
    const together = data.filter(({ over }) => over === 'all');
    expect(together.map(({ endpoint }) => endpoint.replace('/api/free/batch-', ''))).toEqual([
      'find-duplicates',
      'compare-images',
      'montage-images',
      'favicon',
      'srcset',
    ]);
    const compare = together.find(({ name }) => name === 'compare')!;
    expect(compare.fields).toContainEqual(
      expect.objectContaining({ name: 'reference', type: 'file', required: true }),
    );
    const run = data.find(({ name }) => name === 'run')!;
    expect(run.fields).toMatchObject([
      {
        name: 'recipe',
        presets: expect.arrayContaining([{ name: 'web', text: presetSource('web') }]),
      },
      { name: 'set' },
      { name: 'images', type: 'file', repeatable: true },
    ]);
  });
});
