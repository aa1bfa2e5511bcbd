import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { OWNER_KEY, startDaemon } from '../daemon.ts';
import { oriel, temporaryFolder } from '../oriel.ts';
import { decode } from '../pixels.ts';
import { WebhookReceiver } from './webhook-receiver.ts';

const PROMPT = 'a lighthouse at dusk';

it('generates an image on the command line without a configuration', async () => {
  const { url } = await startDaemon();
  const folder = temporaryFolder();
  const run = await oriel(['generate', PROMPT, '--size', '16:9', '--out', 'a.png'], {
    cwd: folder,
    env: { ORIEL_URL: url, ORIEL_API_KEY: OWNER_KEY },
  });
  expect(run.stderr).not.toContain('error');
  expect(run.status).toBe(0);
  const picture = await decode(readFileSync(join(folder, 'a.png')));
  expect(picture).toMatchObject({ width: 1536, height: 1024, metadata: { format: 'png' } });
});

it('generates an image over HTTP and signs the callback', async () => {
  const daemon = await startDaemon({ config: { network: { allowPrivateAddresses: true } } });
  const response = await daemon.request('/v1/account/callback-secret');
  const { secret } = (await response.json()) as { secret: string };
  const receiver = await WebhookReceiver.open();
  onTestFinished(() => receiver.close());
  const submitted = await daemon.request('/v1/images/generations', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'sandbox-image',
      prompt: PROMPT,
      size: '16:9',
      callback_url: receiver.url,
    }),
  });
  expect(submitted.status).toBe(202);
  const { task_id, poll_url } = (await submitted.json()) as Record<string, string>;
  const callback = await receiver.nth(1);
  const record = (await (await daemon.request(poll_url!)).json()) as {
    result: { data: { url: string }[] };
  };
  expect(record).toMatchObject({ task_id, status: 'completed', type: 'image', error: null });
  expect(WebhookReceiver.verified(secret, callback)).toMatchObject({
    type: 'task.completed',
    data: record,
  });
  const image = await fetch(record.result.data[0]!.url);
  expect(image.headers.get('content-type')).toBe('image/png');
  const picture = await decode(new Uint8Array(await image.arrayBuffer()));
  expect(picture).toMatchObject({ width: 1536, height: 1024 });
});
