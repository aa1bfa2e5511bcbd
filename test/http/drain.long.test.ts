import { expect, it } from 'vitest';
import { OWNER_KEY, startDaemon, type TestDaemon } from '../daemon.ts';
import {
  SLOW_ENCODER,
  slowerThanEstimated,
  slowToEncode,
  UNDERESTIMATED,
} from '../fixtures/images.ts';
import { until } from '../fixtures/until.ts';
import { oriel } from '../oriel.ts';
import { RawClient } from './raw-client.ts';

const FILE = 'not an image, but bytes that can be hashed';
const BODY = `--b\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\n${FILE}\r\n--b--\r\n`;

/** Begins a batch and leaves the end of its body to be sent. */
async function halfAnUpload(daemon: TestDaemon): Promise<RawClient> {
  const client = new RawClient(daemon);
  await client.write(
    `POST /api/free/batch-image-hash HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${OWNER_KEY}\r\n` +
      `Content-Type: multipart/form-data; boundary=b\r\nContent-Length: ${BODY.length}\r\n` +
      'Expect: 100-continue\r\n\r\n',
  );
  // The server says so once the request has reached its endpoint.
  await client.receive(/^HTTP\/1\.1 100 /);
  await client.write(BODY.slice(0, 50));
  return client;
}

/** Asks for a conversion whose encoder would outlast the test. */
async function convertForMinutes(
  daemon: TestDaemon,
  picture = slowToEncode(),
  options: object = SLOW_ENCODER,
): Promise<Response> {
  const form = new FormData();
  for (const [name, value] of Object.entries(options)) form.append(name, `${value}`);
  form.append('files', new Blob([new Uint8Array(await picture)]), 'slow');
  return daemon.request('/api/free/batch-convert-images', { method: 'POST', body: form });
}

it('a draining daemon completes requests in progress, serves administration until then, and accepts no new ones', async () => {
  const daemon = await startDaemon();
  const client = await halfAnUpload(daemon);
  daemon.child.kill('SIGTERM');
  await daemon.logged('draining');
  await expect(fetch(`${daemon.url}/healthz`)).rejects.toThrow('fetch failed');
  const { status, out } = await oriel(['accounts', 'list', '--data', daemon.data]);
  expect([status, out]).toEqual([0, expect.stringContaining('owner')]);
  expect(daemon.log).toContainEqual(expect.objectContaining({ path: '/accounts/list' }));
  await client.write(BODY.slice(50));
  const answer = await client.whole();
  expect(answer).toMatch(/\r\n\r\nHTTP\/1\.1 200 /);
  expect(answer).toMatch(/connection: close/i);
  expect(answer).toContain('"succeeded":1');
  expect((await daemon.ended).code).toBe(0);
});

it('a draining daemon waits for neither connections nor encoders after server.grace', async () => {
  const daemon = await startDaemon({ config: { server: { grace: '200ms' } } });
  const client = await halfAnUpload(daemon);
  const cut = convertForMinutes(daemon).then(
    () => 'answered',
    () => 'cut',
  );
  await until(async () => (await daemon.metrics()).includes('oriel_pool_jobs_running 1'));
  expect(await daemon.stop()).toMatchObject({ code: 0 });
  expect(daemon.log.at(-1)).toMatchObject({ msg: 'stopped' });
  expect(await client.whole()).not.toMatch(/HTTP\/1\.1 200 /);
  expect(await cut).toBe('cut');
});

it('does not wait for an encoder past its deadline, and exits with code 0 after SIGINT too', async () => {
  const daemon = await startDaemon({ config: { batch: { deadline: '1500ms' } } });
  const answer = await convertForMinutes(daemon, slowerThanEstimated(), UNDERESTIMATED);
  expect(Buffer.from(await answer.arrayBuffer()).toString('latin1')).toContain('not done within');
  expect(await daemon.stop('SIGINT')).toMatchObject({ code: 0 });
  expect(daemon.log.at(-1)).toMatchObject({ msg: 'stopped' });
});

it('a second signal ends the daemon at once', async () => {
  const daemon = await startDaemon();
  await halfAnUpload(daemon);
  daemon.child.kill('SIGTERM');
  await daemon.logged('draining');
  daemon.child.kill('SIGTERM');
  expect((await daemon.ended).signal).toBe('SIGTERM');
});
