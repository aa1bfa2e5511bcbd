import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { freePort } from '../../bench/free-port.ts';
import { startDaemon } from '../../daemon.ts';
import { describeWith } from '../../engines/engine.ts';
import { POSTGRES, startPostgres } from '../../engines/postgres.ts';
import { REDIS, startRedis } from '../../engines/redis.ts';
import { listening, sharedServer } from '../../fixtures/server.ts';
import { handOver, oriel, type RunOptions, temporaryFolder } from '../../oriel.ts';

const KEY = 'sk-of-the-doctor-123456';
const WRONG = 'sk-wrong-of-the-doctor-987';

interface Finding {
  readonly check: string;
  readonly status: string;
  readonly text: string;
  readonly remedy: string | null;
}

/** A provider of chat completions, whose clock is as wrong as its path says, in seconds. */
const provider = sharedServer(
  createServer(({ url = '', headers }, response) => {
    const [, skew = 0] = /^\/late-(\d+)/.exec(url) ?? [];
    response.setHeader('date', new Date(Date.now() - Number(skew) * 1000).toUTCString());
    const send = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (headers.authorization !== `Bearer ${KEY}`) {
      const message = `Incorrect API key provided: ${headers.authorization}`;
      return send(401, { error: { message } });
    }
    if (url.endsWith('/models')) return send(200, { data: [{ id: 'gpt-a' }] });
    const message = { role: 'assistant', content: 'OK' };
    return send(200, { choices: [{ index: 0, finish_reason: 'stop', message }] });
  }),
);

const providerWith = (apiKey: string, baseUrl = `${provider()}/v1`) => ({
  ...{ kind: 'openai', apiKey, baseUrl },
});

interface Setup extends RunOptions {
  readonly config?: object;
  readonly only?: string;
}

/** Runs the doctor in a folder with this configuration, and returns what it found. */
async function examine(folder: string, { config, only, ...options }: Setup = {}) {
  if (config) writeFileSync(join(folder, 'oriel.yaml'), JSON.stringify(config));
  const args = ['doctor', '--json', ...(only === undefined ? [] : ['--only', only])];
  const { code, out, stderr } = await oriel(args, { cwd: folder, ...options });
  const { findings } = JSON.parse(out) as { readonly findings: readonly Finding[] };
  return { code, findings, text: out + stderr };
}

describe('oriel doctor without a daemon', () => {
  it('examines an empty folder, makes nothing, and prints a table of 80 columns', async () => {
    const cwd = temporaryFolder();
    const { code, out, stderr } = await oriel(['doctor'], { cwd });
    expect({ code, files: readdirSync(cwd) }).toEqual({ code: 0, files: [] });
    const lines = out.split('\n');
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    const names = lines.flatMap((line) => /^\S+ +([a-z0-9-]+) {2,}\S/.exec(line)?.[1] ?? []);
    expect([...new Set(names)]).toEqual([
      ...['versions', 'configuration', 'permissions', 'space', 'disk', 'clock', 'descriptors'],
      ...['memory', 'images', 'programs', 'store', 'postgresql', 's3', 'redis', 'providers'],
      ...['public-url', 'callbacks'],
    ]);
    expect(stderr).toMatch(/^0 failed, \d+ warnings?\n$/);
  });

  it('tests providers of the file, and shows no key', async () => {
    const closed = await freePort();
    const providers = {
      good: providerWith(KEY),
      wrong: providerWith(WRONG),
      dead: providerWith(KEY, `http://127.0.0.1:${closed}/v1`),
      unset: providerWith('${DOCTOR_UNSET}'),
    };
    const setup = { config: { providers }, only: 'configuration,providers' };
    const { code, findings, text } = await examine(temporaryFolder(), setup);
    expect(code).toBe(1);
    expect(findings.map(({ check, status }) => `${check} ${status}`)).toEqual([
      'configuration failed',
      ...['providers ok', 'providers failed', 'providers failed', 'providers failed'],
    ]);
    expect(findings[1]!.text).toMatch(/^good: gpt-a answered in \d+ ms, offers 1 model$/);
    expect(findings[2]).toMatchObject({
      text: expect.stringContaining('Incorrect API key provided: Bearer [key]'),
      remedy: 'Check the API key or the identity, and what it may use at the provider.',
    });
    expect(findings[3]!.text).toContain('connection refused');
    expect(findings[4]!.text).toContain('DOCTOR_UNSET is not set');
    for (const secret of [KEY, WRONG]) expect(text).not.toContain(secret);
  });

  const closed = 'postgres://oriel:secret-of-postgres@127.0.0.1:1/oriel';
  const webhook = {
    ...{ name: 'hook', url: 'http://example.org/' },
    secret: `whsec_${Buffer.alloc(24, 1).toString('base64')}`,
  };
  const unreachable = () => ({
    providers: { late: providerWith(KEY, `${provider()}/late-1200/v1`) },
    store: { driver: 'postgres', url: closed },
    limits: { shared: 'redis://:secret-of-redis@127.0.0.1:1' },
    assets: {
      ...{ driver: 's3', bucket: 'files', region: 'eu', forcePathStyle: true },
      ...{ endpoint: 'http://127.0.0.1:1', accessKeyId: 'id' },
      secretAccessKey: 'secret-of-the-bucket',
    },
    overload: { memory: '900TB' },
    alerts: { webhooks: [{ ...webhook, url: 'http://10.0.0.9:9000/' }] },
  });
  const risky = () => ({
    alerts: { diskFree: '900TB', webhooks: [webhook] },
    server: { maxConnections: 900_000 },
  });
  const invalid = () => ({ server: { port: 'no' }, nothing: 1 });
  it.each<[string, () => object, 'failed' | 'warning', Readonly<Record<string, RegExp>>]>([
    [
      'services that cannot be reached, a wrong clock and missing memory',
      unreachable,
      'failed',
      {
        clock: /^(1199|120\d) s from/,
        memory: /less than overload\.memory/,
        postgresql: /127\.0\.0\.1:1.*ECONNREFUSED|cannot/,
        s3: /^files: /,
        redis: /^127\.0\.0\.1:1: .*ECONNREFUSED/,
        callbacks: /hook: 10\.0\.0\.9:9000 is a private address/,
      },
    ],
    [
      'little space, few descriptors and a webhook that others can read',
      risky,
      'warning',
      {
        space: /free of/,
        descriptors: /too few for 900000 connections/,
        callbacks: /over http/,
      },
    ],
    ['a file that is no configuration', invalid, 'failed', { configuration: /oriel\.yaml/ }],
  ])('finds %s', async (_, config, status, texts) => {
    const only = Object.keys(texts).join();
    const found = await examine(temporaryFolder(), { config: config(), only });
    for (const [check, text] of Object.entries(texts)) {
      const first = found.findings.find((finding) => finding.check === check);
      expect(first).toMatchObject({ status, text: expect.stringMatching(text) });
    }
    expect(found.text).not.toContain('secret-of');
    expect(found.code).toBe(status === 'failed' ? 1 : 0);
  });

  it('finds a small limit of descriptors', async () => {
    const found = await examine(temporaryFolder(), { only: 'descriptors', descriptors: 100 });
    expect(found.findings[0]).toMatchObject({ status: 'failed', remedy: expect.any(String) });
  });

  it('finds a data folder that is open to all, and one that is read-only', async () => {
    const folder = temporaryFolder();
    const data = join(folder, 'data');
    mkdirSync(data);
    chmodSync(data, 0o777);
    const open = await examine(folder, { only: 'permissions' });
    expect(open.findings[0]).toMatchObject({
      status: 'failed',
      text: expect.stringMatching(/every user may write there.*chmod o-w/),
    });
    chmodSync(data, 0o700);
    handOver(folder);
    const only = 'permissions,store,providers';
    const { findings: foreign } = await examine(folder, { only, unprivileged: true });
    const expected = process.getuid!() === 0 ? 'belongs to user 0' : 'no store yet';
    expect(foreign.slice(1).map(({ text }) => text)).toEqual(
      Array(2).fill(expect.stringContaining(expected)),
    );
    if (process.getuid!() === 0) expect(foreign[0]!.remedy).toMatch(/^Run sudo -u USER/);
    handOver(data);
    chmodSync(data, 0o500);
    const setup = { only: 'permissions,disk,store', unprivileged: true };
    const { code, findings } = await examine(folder, setup);
    expect(code).toBe(1);
    expect(findings.map(({ check, status }) => `${check} ${status}`)).toEqual([
      ...['permissions failed', 'disk failed', 'store skipped'],
    ]);
    expect(findings[0]).toMatchObject({
      text: expect.stringContaining('EACCES'),
      remedy: `Let the user of the daemon write in ${data}.`,
    });
    chmodSync(data, 0o700);
  });

  it('finds a data folder in memory', async () => {
    const folder = temporaryFolder('/dev/shm');
    mkdirSync(join(folder, 'data'), { mode: 0o700 });
    const { findings } = await examine(folder, { only: 'disk' });
    expect(findings[0]).toMatchObject({ status: 'failed', text: expect.stringContaining('tmpfs') });
    expect(readdirSync(join(folder, 'data'))).toEqual([]);
  });

  it('names the checks for an unknown one', async () => {
    const { code, stderr } = await oriel(['doctor', '--only', 'disk,nothing']);
    expect(code).toBe(2);
    expect(stderr).toMatch(/--only: expected names out of versions, .*received "nothing"/);
  });
});

describe('oriel doctor beside a daemon', () => {
  it('audits the store through the daemon, which keeps its keys, and finds it by publicUrl', async () => {
    const port = await freePort();
    const publicUrl = `http://127.0.0.1:${port}`;
    const providers = { good: providerWith('${DOCTOR_KEY}') };
    const daemon = await startDaemon({
      config: { server: { publicUrl }, providers },
      args: ['--port', String(port)],
      env: { DOCTOR_KEY: KEY },
    });
    const lock = () => readFileSync(join(daemon.data, 'store', 'lock'), 'utf8');
    const before = lock();
    const only = 'configuration,store,providers,public-url';
    const args = ['doctor', '--json', '--only', only, '--data', daemon.data];
    const { code, out } = await oriel(args, { cwd: daemon.data });
    const { findings } = JSON.parse(out) as { readonly findings: readonly Finding[] };
    expect(findings.map(({ check, status, text }) => [check, status, text])).toEqual([
      ['configuration', 'warning', expect.stringContaining('DOCTOR_KEY is not set')],
      ['store', 'ok', expect.stringContaining('the sums of 1 account, ')],
      ['providers', 'ok', expect.stringMatching(/^good: gpt-a answered/)],
      ['public-url', 'ok', `${publicUrl}: leads to this daemon`],
    ]);
    expect(code).toBe(0);
    expect(lock()).toBe(before);

    // As another Oriel answers a request without a key.
    const refuse = createServer((_, response) =>
      response.writeHead(401, { 'x-request-id': 'a' }).end(),
    );
    const config = { server: { publicUrl: await listening(refuse) } };
    writeFileSync(join(daemon.data, 'oriel.yaml'), JSON.stringify(config));
    const wrong = await oriel(['doctor', '--only', 'public-url', '--data', daemon.data], {
      cwd: daemon.data,
    });
    expect(wrong.out).toContain('an Oriel answers, but not this');
  });
});

describeWith([POSTGRES, REDIS], 'oriel doctor with PostgreSQL and Redis', () => {
  it('says what they are, changes nothing, and audits a store of this version', async () => {
    const [postgres, redis] = await Promise.all([startPostgres(), startRedis({ password: WRONG })]);
    try {
      const folder = temporaryFolder();
      const store = { driver: 'postgres', url: postgres.url };
      const config = { store, limits: { shared: redis.url } };
      const only = 'store,postgresql,redis';
      const empty = await examine(folder, { config, only });
      expect(empty.findings.map(({ status, text }) => [status, text])).toEqual([
        ['skipped', 'the next start has to migrate the database first'],
        ['warning', expect.stringMatching(/^PostgreSQL 15\S*.* schema version 0 of \d+, /)],
        ['ok', expect.stringMatching(/^127\.0\.0\.1:\d+: scripts run/)],
      ]);
      expect(postgres.sql("SELECT to_regnamespace('oriel') IS NULL").trim()).toBe('t');
      await oriel(['accounts', 'create', 'ci'], { cwd: folder });
      const full = await examine(folder, { only });
      expect(full.findings.map(({ status }) => status)).toEqual(['ok', 'ok', 'ok']);
      expect(full.text).not.toContain(WRONG);
    } finally {
      postgres.remove();
      await redis.close();
    }
  });
});
