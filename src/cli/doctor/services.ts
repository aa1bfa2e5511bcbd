import { setTimeout as delay } from 'node:timers/promises';
import { probeBucket } from '../../assets/open.ts';
import { Failure } from '../../failure.ts';
import { RedisScripts } from '../../http/limits/redis-scripts.ts';
import { configured, type Examined, failed, ok, type Run, skipped, warning } from './check.ts';
import { adminCommand, isFinding } from './store.ts';

export const bucket: Run = configured(async ({ assets }, { network }) => {
  if (assets.driver !== 's3') return skipped('files are in the data folder');
  const began = performance.now();
  try {
    await probeBucket(assets, network);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const text = `${assets.bucket}: ${error.detail ?? error.message}`;
    return failed(text, 'Check assets.endpoint, region, bucket, the key, and what it may do.');
  }
  const milliseconds = Math.round(performance.now() - began);
  return ok(`${assets.bucket}: lists, stores and deletes, in ${milliseconds} ms`);
});

export const redis: Run = configured(async ({ limits: { shared: url, sharedPrefix: prefix } }) => {
  if (url === undefined) return skipped('limits.shared is not set');
  const host = new URL(url).host;
  let reason = 'no answer';
  const lost = (why: string) => {
    reason = why;
  };
  const observer = { answered: () => {}, failed: () => {}, lost, returned: () => {} };
  const began = performance.now();
  const scripts = await RedisScripts.open({ url, prefix, observer });
  const { isAvailable } = scripts;
  scripts.close();
  if (isAvailable) return ok(`${host}: scripts run, ${Math.round(performance.now() - began)} ms`);
  const remedy = 'Check the address, the password and the permissions of the user in Redis.';
  return failed(`${host}: ${reason}`, remedy);
});

/** Requests that look for the probe in the log of requests, which is written after 0.2 s. */
const LOOKS = 10;
const LOOK_MS = 200;

export const publicUrl: Run = configured(async ({ server }, examined) => {
  const url = server.publicUrl;
  if (url === undefined) return skipped('server.publicUrl is not set');
  if (examined.daemon === null) return skipped('no daemon runs that could answer');
  const remedy = 'Check DNS, the certificate and the proxy, which must pass on to the daemon.';
  // Without a key it costs nothing. The log of requests has those that are POST.
  const answer = await ask(examined, `${url}/v1/chat/completions`).catch((error: unknown) => error);
  if (answer instanceof Failure) return failed(`${url}: ${answer.message}`, remedy);
  const { status, headers } = answer as Awaited<ReturnType<typeof ask>>;
  const id = headers['x-request-id'];
  if (status !== 401 || !id) {
    return failed(
      `${url}: expected 401 of Oriel for a request without a key, got ${status}`,
      remedy,
    );
  }
  // The request is in the log of this daemon, or else another one has answered it.
  for (let look = 0; look < LOOKS; look += 1) {
    const found = await examined
      .inStore(adminCommand('requests', 'show'), { id })
      .catch(() => null);
    if (found && !isFinding(found)) return ok(`${url}: leads to this daemon`);
    await delay(LOOK_MS);
  }
  return warning(
    `${url}: an Oriel answers, but not this daemon`,
    'Point the proxy to this daemon.',
  );
});

async function ask({ network }: Examined, url: string) {
  const response = await network.open(url, {
    headers: { 'content-type': 'application/json' },
    body: '{}',
    timeouts: { connect: 5000, firstByte: 0, idle: 0, total: 10_000 },
    signal: new AbortController().signal,
  });
  response.abort();
  return response;
}
