import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { globSync } from 'tinyglobby';
import { describe, expect, it } from 'vitest';
import { MOCK_CREDENTIALS, MOCK_REGION, startS3Mock } from '../../../assets/s3/s3-mock.ts';
import { OWNER_KEY, sharedDaemon, startDaemon, type TestDaemon } from '../../../daemon.ts';
import { sharedServer } from '../../../fixtures/server.ts';
import { temporaryFolder } from '../../../oriel.ts';
import { residentCommand } from '../../../resident.ts';
import { newKey } from '../../../text/gateway-daemon.ts';
import { listening } from '../../../upstream/servers.ts';

const SECRET = 'sk-wrong-5ecre7-0123456789';

/** A provider that is overloaded, and quotes the key. */
const upstream = sharedServer(
  createServer(({ headers }, response) => {
    response.writeHead(503, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { message: `busy: ${headers.authorization}` } }));
  }),
);

const config = (requests: object = {}) => ({
  requests,
  routing: { retries: 0 },
  providers: {
    sandbox: { kind: 'sandbox' },
    busy: { kind: 'openai', baseUrl: `${upstream()}/v1`, apiKey: SECRET },
  },
  models: {
    chat: {
      type: 'text',
      routes: [
        { provider: 'busy', model: 'gpt-any', priority: 2 },
        { provider: 'sandbox', model: 'chat' },
      ],
    },
    plain: { type: 'text', routes: [{ provider: 'sandbox', model: 'chat' }] },
    kept: {
      type: 'text',
      requestBodies: 'all',
      routes: [{ provider: 'sandbox', model: 'chat' }],
    },
  },
});

type Json = Readonly<Record<string, unknown>>;

async function json(daemon: TestDaemon, path: string, key = OWNER_KEY, init: RequestInit = {}) {
  const headers = {
    authorization: `Bearer ${key}`,
    ...(init.body !== undefined && { 'content-type': 'application/json' }),
  };
  const response = await fetch(daemon.url + path, { ...init, headers });
  return { status: response.status, body: (await response.json()) as Json };
}

const post = (daemon: TestDaemon, path: string, body: object, key = OWNER_KEY) =>
  json(daemon, path, key, { method: 'POST', body: JSON.stringify(body) });

const ask = (daemon: TestDaemon, content: string, key = OWNER_KEY, model = 'plain') =>
  post(daemon, '/v1/chat/completions', { model, messages: [{ role: 'user', content }] }, key);

const listed = async (daemon: TestDaemon, path: string, key = OWNER_KEY) =>
  (await json(daemon, path, key)).body['data'] as readonly Json[];

const bytesIn = (folder: string) =>
  globSync('**', { cwd: folder, absolute: true, dot: true })
    .map((file) => readFileSync(file, 'latin1'))
    .join();

const bodiesIn = async (daemon: TestDaemon, key = OWNER_KEY) => {
  const [newest] = await listed(daemon, '/v1/requests?limit=1', key);
  return (await json(daemon, `/v1/requests/${newest!['id']}`, key)).body['bodies'] as Json | null;
};

const command = residentCommand();

describe('the log of requests', () => {
  it('has attempts, also after kill -9, and hides providers and other accounts', async () => {
    const data = temporaryFolder();
    const first = await startDaemon({ data, config: config() });
    const other = await newKey(first, 'other');
    await ask(first, 'a secret', other, 'chat');
    const [before] = await listed(first, '/v1/requests', other);
    await first.stop('SIGKILL');
    const daemon = await startDaemon({ data, config: config() });
    const id = String(before!['id']);
    const { body: own } = await json(daemon, `/v1/requests/${id}`, other);
    expect(own).toMatchObject({ ...before, attempts: 2, status: 200, bodies: null });
    expect(own['timeline']).toMatchObject([
      { status: 503, error: 'upstream_failed' },
      { status: 200 },
    ]);
    expect(JSON.stringify(own)).not.toMatch(/busy|gpt-any|sandbox|5ecre7|a secret/);
    const { body: owners } = await json(daemon, `/v1/admin/requests/${id}`);
    expect(owners).toMatchObject({
      account: { name: 'other' },
      timeline: [
        {
          provider: 'busy',
          model: 'gpt-any',
          message: expect.stringContaining('busy: Bearer [key]'),
        },
        { provider: 'sandbox', error: null, message: null },
      ],
    });
    expect(JSON.stringify(owners)).not.toContain('5ecre7');
    // As a narrow terminal lists it.
    const { out } = await command(['requests', 'show', id.slice(0, 12), '--data', data]);
    expect(out).toMatch(/^ended +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/m);
    expect(out).toMatch(/^account +other \(acct_\w+\)$/m);
    expect(out).not.toMatch(/[{}]/);
    expect(await json(daemon, `/v1/requests/${id}`)).toMatchObject({ status: 404 });
    expect(
      await json(daemon, `/v1/requests/${id}/bodies`, OWNER_KEY, { method: 'DELETE' }),
    ).toMatchObject({ status: 404, body: { error: { code: 'request_not_found' } } });
    expect(await json(daemon, `/v1/admin/requests/${id}`, other)).toMatchObject({ status: 403 });
    // The words of a provider are no way to find out its name.
    expect(await listed(daemon, '/v1/requests?text=busy', other)).toEqual([]);
    expect(await listed(daemon, '/v1/admin/requests?text=BUSY&account=other')).toHaveLength(1);
    expect(await listed(daemon, '/v1/admin/requests?account=nobody')).toEqual([]);
  });

  describe('of a running daemon', () => {
    const shared = sharedDaemon({
      // Read when the daemon starts, after the provider has a port.
      get config() {
        return config();
      },
    });

    it.each([
      ['since=yesterday', /^since: expected a time such as 7d/],
      ['after=-1', /^after: expected an integer/],
      ['after=99999999999999999999', /^after: expected an integer/],
      ['tag=', /^tag: expected a tag such as run=42/],
      [`text=${'x'.repeat(300)}`, /^text: expected 1 to 256/],
      ['provider=sandbox', /^provider: /],
    ])('refuses %s', async (query, message) => {
      expect(await json(shared(), `/v1/requests?${query}`)).toMatchObject({
        status: 400,
        body: { error: { message: expect.stringMatching(message) } },
      });
    });

    it('is followed live by the own account, and exported as lines of JSON', async () => {
      const daemon = shared();
      const other = await newKey(daemon, 'other');
      const headers = { authorization: `Bearer ${other}` };
      const response = await fetch(`${daemon.url}/v1/requests/events`, { headers });
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      let text = String((await reader.read()).value);
      expect(text).toMatch(/^event: open\n/);
      await ask(daemon, 'of the owner');
      await ask(daemon, 'of the other account', other);
      while (!text.includes('event: request')) text += (await reader.read()).value;
      await reader.cancel();
      expect(text.match(/event: request/g)).toHaveLength(1);
      expect(text).toContain('"name":"unnamed"');
      const exported = await fetch(`${daemon.url}/v1/admin/requests/export`, {
        headers: { authorization: `Bearer ${OWNER_KEY}` },
      });
      const lines = (await exported.text()).trim().split('\n');
      expect(lines.map((line) => (JSON.parse(line) as Json)['object'])).toEqual([
        'request',
        'request',
      ]);
      const to = `${daemon.data}/out.jsonl`;
      const flags = ['--data', daemon.data];
      expect(await command(['requests', 'export', to, ...flags])).toMatchObject({ code: 0 });
      expect(readFileSync(to, 'utf8').trim().split('\n')).toHaveLength(2);
      expect(await command(['requests', 'export', to, ...flags])).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('exists already'),
      });
      expect(await command(['requests', 'export', 's3://bucket', ...flags])).toMatchObject({
        code: 2,
      });
    });

    it('has bodies where a key, an account, a model or the configuration says so, in this order', async () => {
      const daemon = shared();
      const { body: created } = await post(daemon, '/v1/admin/keys/create', { account: 'owner' });
      const { key, id } = created['result'] as Readonly<Record<string, string>>;
      const set = (bodies: string) => post(daemon, '/v1/admin/keys/set', { id, bodies });
      const setAccount = (bodies: string) =>
        post(daemon, '/v1/admin/accounts/set-bodies', { name: 'owner', bodies });
      const isKept = async (model: string, content = 'hello') => {
        await ask(daemon, content, key, model);
        return (await bodiesIn(daemon, key)) !== null;
      };
      const failing = 'sandbox:fail=service_error';
      expect([await isKept('plain'), await isKept('kept')]).toEqual([false, true]);
      expect(await setAccount('off')).toMatchObject({ status: 200 });
      expect(await isKept('kept')).toBe(false);
      expect(await set('errors')).toMatchObject({ status: 200 });
      expect([await isKept('plain'), await isKept('kept')]).toEqual([false, false]);
      expect(await isKept('plain', failing)).toBe(true);
      await set('default');
      await setAccount('default');
      expect([await isKept('plain', failing), await isKept('kept')]).toEqual([false, true]);
      expect(await set('some')).toMatchObject({ status: 400 });
    });

    it('has the whole answer of a stream, whatever its format', async () => {
      const user = [{ role: 'user', content: 'hello' }];
      const requests: readonly [string, object][] = [
        ['/v1/chat/completions', { messages: user }],
        ['/v1/messages', { messages: user, max_tokens: 100 }],
        ['/v1/responses', { input: 'hello' }],
        ['/v1/completions', { prompt: 'hello' }],
      ];
      for (const [path, body] of requests) {
        const sent = { ...body, model: 'kept', stream: true };
        await (await shared().send(path, sent)).text();
        const { answer } = (await bodiesIn(shared()))!;
        expect([path, JSON.parse(String(answer))]).toMatchObject([
          path,
          { text: expect.stringMatching(/You said: hello$/) },
        ]);
      }
    });
  });

  it('are exported to a bucket, in place of an object only where that is asked for', async () => {
    const mock = await startS3Mock(listening);
    const env = {
      AWS_ACCESS_KEY_ID: MOCK_CREDENTIALS.accessKeyId,
      AWS_SECRET_ACCESS_KEY: MOCK_CREDENTIALS.secretAccessKey,
    };
    const assets = {
      ...{ driver: 's3', endpoint: mock.endpoint, region: MOCK_REGION, bucket: 'files' },
      forcePathStyle: true,
    };
    const daemon = await startDaemon({ config: { assets }, env });
    const refused = () => ask(daemon, 'hello', OWNER_KEY, 'none');
    await refused();
    const run = (...more: string[]) => {
      const place = ['--config', `${daemon.data}/oriel.yaml`, '--data', daemon.data];
      return command(['requests', 'export', 's3://bucket/logs/a b.jsonl', ...place, ...more], {
        env,
      });
    };
    const linesOf = () => String(mock.objects.get('logs/a b.jsonl')!.content).match(/.+\n/g);
    expect(await run()).toMatchObject({ code: 0, stderr: '1 request exported\n' });
    expect(linesOf()).toEqual([expect.stringContaining('"named_model":"none"')]);
    await refused();
    expect(await run()).toMatchObject({
      code: 1,
      stderr: 'oriel: s3://bucket/logs/a b.jsonl exists already\n',
    });
    expect(linesOf()).toHaveLength(1);
    expect(await run('--overwrite')).toMatchObject({ code: 0 });
    expect(linesOf()).toHaveLength(2);
    const disk = ['--data', daemon.data, '--config', '/dev/null'];
    expect(
      await command(['requests', 'export', 's3://bucket/key', ...disk], { env }),
    ).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('s3:// needs assets.driver: s3'),
    });
  });
});

describe('bodies', () => {
  const SECRETS =
    'CUST-123456 a@example.com sk-proj-abcdefghijklmnop1234 Bearer abcdefgh1234 x"password":"hunter2" then\nxai-abcdefghijklmnopqrstuvwx1234';

  it('have no secrets, are cut, are deleted for good, and are not kept where an expression takes too long', async () => {
    const redact = ['CUST-\\d{6}', '(a+)+$', '(a|a)*bb$'];
    const settings = { bodies: 'all', redact, redactEmails: true, maxBody: '1KB' };
    const data = temporaryFolder();
    const daemon = await startDaemon({ data, config: config(settings) });
    await ask(daemon, SECRETS);
    const { request, answer } = (await bodiesIn(daemon))!;
    for (const text of [request, answer]) {
      expect(text).toMatch(/(\[redacted\] ?){4}/);
      expect(text).not.toMatch(/CUST|example|sk-proj|abcdefgh|hunter2|xai-/);
    }
    await ask(daemon, `${'word '.repeat(400)}unique-ending`);
    expect((await bodiesIn(daemon))!['request']).toMatch(
      /word… \[cut at 1000 characters\]$|\[cut at 1000 characters\]$/,
    );
    await ask(daemon, 'unique-words');
    const [newest] = await listed(daemon, '/v1/requests?limit=1');
    expect(bytesIn(data)).toContain('unique-words');
    const path = `/v1/requests/${newest!['id']}/bodies`;
    expect(await json(daemon, path, OWNER_KEY, { method: 'DELETE' })).toMatchObject({
      body: { removed: 1 },
    });
    expect(bytesIn(data)).not.toMatch(/unique-words|hunter2|CUST-1/);
    expect(await bodiesIn(daemon)).toBeNull();
    // Without a limit the expressions would take longer than the test may.
    expect(await ask(daemon, 'a'.repeat(1000))).toMatchObject({ status: 200 });
    expect(await bodiesIn(daemon)).toBeNull();
    await ask(daemon, 'hello');
    expect(await bodiesIn(daemon)).not.toBeNull();
  });
});
