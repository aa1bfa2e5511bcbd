import { once } from 'node:events';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../bench/free-port.ts';
import { configFile } from '../../config/configuration.ts';
import { type LogLine, OWNER_KEY, sharedDaemon } from '../../daemon.ts';
import { until } from '../../fixtures/until.ts';
import { ROOT, start, startProgram, temporaryFolder } from '../../oriel.ts';

/** C1, and the bytes of U+202E as a header has them. */
const COMMANDS = 'a\u009b31m\u00e2\u0080\u00ae';

/** Sends a path or a header that `fetch` would refuse or encode. */
async function getRaw(url: string, path: string, forwardedFor: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const headers = { 'x-forwarded-for': forwardedFor };
  const [answer] = await once(get({ hostname, port, path, headers }), 'response');
  await once(answer.resume(), 'end');
}

describe('the log line', () => {
  const daemon = sharedDaemon({
    config: { server: { trustProxy: true } },
    env: { SOME_PROVIDER_KEY: 'sk-provider-secret' },
  });
  /** The lines of requests but /metrics since the log had so many lines, once there are `count`. */
  const linesAfter = async (before: number, count: number) => {
    const isRequest = ({ msg, path }: LogLine) => msg === 'request' && path !== '/metrics';
    const lines = () => daemon().log.slice(before).filter(isRequest);
    await until(() => lines().length >= count);
    return lines();
  };

  it('of a text request has model, provider, attempts, tokens, credits and first frame', async () => {
    const before = daemon().log.length;
    const ask = async (body: object) => {
      const request = { model: 'sandbox-chat', ...body };
      await (await daemon().send('/v1/chat/completions', request)).text();
    };
    const messages = (content: string) => ({ messages: [{ role: 'user', content }] });
    await ask({ ...messages('Hello'), stream: true });
    await ask(messages('Hello'));
    await ask(messages('sandbox:fail=rate_limit'));
    await ask({ ...messages('sandbox:fail=midstream'), stream: true });
    const metrics = await daemon().metrics();
    const [streamed, whole, refused, broken] = await linesAfter(before, 4);
    const route = { model: 'sandbox-chat', provider: 'sandbox', upstreamModel: 'chat' };
    const tokens = { inputTokens: expect.any(Number), outputTokens: expect.any(Number) };
    expect(streamed).toMatchObject({
      status: 200,
      attempts: 1,
      credits: expect.any(Number),
      ...route,
      ...tokens,
    });
    expect(streamed).toHaveProperty('firstFrameMilliseconds', expect.any(Number));
    expect(streamed).not.toHaveProperty('errorType');
    expect(whole).toMatchObject({
      status: 200,
      attempts: 1,
      cachedInputTokens: 0,
      ...route,
      ...tokens,
    });
    expect(whole).not.toHaveProperty('firstFrameMilliseconds');
    expect(refused).toMatchObject({ status: 429, errorType: 'rate_limit', attempts: 1, ...route });
    expect(broken).toMatchObject({
      status: 200,
      errorType: 'service_error',
      reason: expect.any(String),
    });
    expect(metrics).toContain('oriel_time_to_first_token_seconds_count{model="sandbox-chat"} 1');
  });

  it('of a client that disconnects has status 499, tokens and credits', async () => {
    const before = daemon().log.length;
    const messages = [{ role: 'user', content: 'sandbox:fail=hang Hello' }];
    const controller = new AbortController();
    const { body } = await daemon().send(
      '/v1/chat/completions',
      { model: 'sandbox-chat', stream: true, messages },
      { signal: controller.signal },
    );
    await body!.getReader().read();
    controller.abort();
    const [line] = await linesAfter(before, 1);
    expect(line).toMatchObject({
      ...{ status: 499, code: 'client_left', model: 'sandbox-chat', attempts: 1 },
      inputTokens: expect.any(Number),
      credits: expect.any(Number),
      firstFrameMilliseconds: expect.any(Number),
    });
    expect(await daemon().metrics()).toMatch(
      /oriel_http_request_duration_seconds_count\{[^}]*status="499"\} 1/,
    );
  });

  // The last test: it stops the daemon, and reads all that it wrote.
  it('is one for each request, valid JSON without secrets and terminal control characters', async () => {
    const before = daemon().log.length;
    const secret = 'oriel_secret_of_somebody_else';
    await daemon().request('/v1/account?token=in-the-query');
    await daemon().request('/v1/account', { headers: { authorization: `Bearer ${secret}` } });
    await daemon().request(`/v1/tasks/unknown`, { headers: { 'x-api-key': secret } });
    await getRaw(daemon().url, '/v1/"quoted"\\x', 'a "friend"\\');
    await getRaw(daemon().url, '/nothing', COMMANDS);
    const { out, stderr } = await daemon().stop();
    for (const text of [OWNER_KEY, secret, 'in-the-query', 'sk-provider-secret']) {
      expect(out + stderr).not.toContain(text);
    }
    expect(out).toContain('31m');
    expect(out).not.toMatch(/[\u007f-\u009f\u202e]/);
    const lines = await linesAfter(before, 5);
    expect(lines).toHaveLength(5);
    expect(lines[0]).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      msg: 'request',
      requestId: expect.stringMatching(/^req_/),
      method: 'GET',
      path: '/v1/account',
      status: 200,
      milliseconds: expect.any(Number),
      ip: '127.0.0.1',
      key: expect.stringMatching(/^key_/),
    });
    expect(lines[1]).toMatchObject({
      status: 401,
      errorType: 'auth_error',
      reason: expect.any(String),
    });
    expect(lines[1]).not.toHaveProperty('key');
    expect(lines[2]).toMatchObject({ status: 404, code: 'task_not_found' });
    expect(lines[3]).toMatchObject({ path: '/v1/"quoted"\\x', ip: 'a "friend"\\', status: 404 });
  });
});

it('log.format pretty writes text for people: status, method, path and time, and no control characters', async () => {
  // Not 503 on a machine under load.
  const config = configFile('{ overload: { eventLoopDelay: 1h }, server: { trustProxy: true } }');
  const folder = ['--data', temporaryFolder(), '--config', config];
  const daemon = start(['serve', '--port', '0', ...folder, '--log-format', 'pretty']);
  let text = '';
  daemon.child.stdout!.on('data', (chunk) => {
    text += chunk;
  });
  const line = async (pattern: RegExp) => {
    await until(() => pattern.test(text));
    return pattern.exec(text)!;
  };
  const [, url] = await line(/"url":"([^"]+)"/);
  await getRaw(url!, '/nowhere', COMMANDS);
  expect(await line(/INFO: (.*nowhere.*)\n/)).toMatchObject({
    1: expect.stringMatching(/^404 GET \/nowhere \d+ ms \{.*"code":"unknown_endpoint"/),
  });
  daemon.child.kill('SIGTERM');
  const { out, code } = await daemon.ended;
  expect(code).toBe(0);
  expect(out).toMatch(/^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: ready/m);
  expect(out).not.toContain('{"level"');
  expect(out).toContain('31m');
  expect(out).not.toMatch(/[\u007f-\u009f\u202e]/);
});

it('the daemon serves requests while standard output is on a full disk', async () => {
  const port = await freePort();
  const data = temporaryFolder();
  // Not 503 on a machine under load.
  const config = configFile('overload: { eventLoopDelay: 1h }');
  const daemon = startProgram('sh', [
    '-c',
    'exec "$@" > /dev/full',
    'sh',
    ...[process.execPath, join(ROOT, 'dist/bin/oriel.cjs'), 'serve', '--port', String(port)],
    ...['--data', data, '--config', config, '--log-format', 'json'],
  ]);
  onTestFinished(() => {
    daemon.child.kill('SIGKILL');
  });
  const ask = () => fetch(`http://127.0.0.1:${port}/nowhere`).catch(() => null);
  await until(async () => (await ask()) !== null);
  // The line of the first request was written, or not, before the second is answered.
  for (let count = 0; count < 20; count += 1) expect((await ask())?.status).toBe(404);
  daemon.child.kill('SIGTERM');
  expect((await daemon.ended).code).toBe(0);
});

describe('log.file', () => {
  const serve = async (file: string, line = 'exec "$@"') => {
    const data = temporaryFolder();
    const log = { file, level: 'info' };
    writeFileSync(
      join(data, 'oriel.yaml'),
      JSON.stringify({ log, metrics: { token: OWNER_KEY }, overload: { eventLoopDelay: '1h' } }),
    );
    const port = await freePort();
    const args = ['serve', '--port', String(port), '--data', join(data, 'data')];
    const shell = ['-c', line, 'sh', process.execPath, join(ROOT, 'dist/bin/oriel.cjs'), ...args];
    const running = startProgram('sh', shell, {
      cwd: data,
      env: { ORIEL_BOOTSTRAP_KEY: OWNER_KEY },
    });
    const ask = async (path: string) => {
      const headers = { authorization: `Bearer ${OWNER_KEY}` };
      return (await fetch(`http://127.0.0.1:${port}${path}`, { headers })).text();
    };
    await until(() =>
      ask('/healthz').then(
        () => true,
        () => false,
      ),
    );
    return { ...running, ask, path: join(data, file) };
  };

  it('has all lines, and standard error has warnings and errors; SIGHUP opens it again', async () => {
    const { child, ended, ask, path } = await serve('logs/oriel.log');
    await ask('/v1/account');
    await until(() => readFileSync(path, 'utf8').includes('/v1/account'));
    renameSync(path, `${path}.moved`);
    child.kill('SIGHUP');
    await until(() => existsSync(path) && readFileSync(path, 'utf8').includes('read again'));
    child.kill('SIGTERM');
    const { code, out, stderr } = await ended;
    expect({ code, out }).toEqual({ code: 0, out: '' });
    expect(readFileSync(path, 'utf8')).toMatch(/"stopped"\}\n$/);
    const levels = stderr.split('\n').flatMap((line) => (line ? [JSON.parse(line).level] : []));
    expect(levels.every((level) => level === 'warn')).toBe(true);
    expect(readFileSync(`${path}.moved`, 'utf8')).not.toContain(OWNER_KEY);
  });

  it('on a full disk stops nothing: lost lines are counted and reported once', async () => {
    // A disk of its own, of which the first lines take all: a namespace for root, and for users that may make one.
    const disk =
      'mkdir logs && mount -t tmpfs -o size=4k none logs && head -c 4000 /dev/zero >logs/oriel.log; exec "$@"';
    const isDisk = (await startProgram('unshare', ['-rm', 'true']).ended).code === 0;
    const line = isDisk ? `exec unshare -rm sh -c '${disk}' sh "$@"` : 'exec "$@"';
    const { child, ended, ask } = await serve(isDisk ? 'logs/oriel.log' : '/dev/full', line);
    const lost = () => ask('/metrics').then((text) => +/lost_lines_total (\d+)/.exec(text)![1]!);
    await until(async () => (await lost()) > 3);
    child.kill('SIGTERM');
    const { code, stderr } = await ended;
    expect(code).toBe(0);
    expect(stderr.match(/the log file cannot be written/g)).toHaveLength(1);
    expect(stderr).toContain('ENOSPC');
  });
});
