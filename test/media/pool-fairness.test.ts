import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import { expect, onTestFinished, test, vi } from 'vitest';
import { DiskStorage } from '../../src/assets/disk/disk-storage.ts';
import { configSchema } from '../../src/config/settings/schema.ts';
import { MediaGateway } from '../../src/media/gateway.ts';
import type { MediaKind } from '../../src/media/task/call.ts';
import { type ImagePool, inlinePool, type JobContext } from '../../src/operations/pool/pool.ts';
import { openStore } from '../../src/store/drivers/open.ts';
import { hashOf } from '../../src/store/key.ts';
import { TextThreads } from '../../src/threads/text-threads.ts';
import { UpstreamClient } from '../../src/upstream/client.ts';
import { quadrants } from '../fixtures/images.ts';
import { temporaryFolder } from '../oriel.ts';

interface Performed {
  readonly operation: string;
  readonly turn: JobContext;
}

/** Media over the sandbox, and what its pool was asked to do. */
async function media() {
  const folder = temporaryFolder();
  const store = await openStore({ directory: join(folder, 'store') });
  const inline = await inlinePool(1);
  const performed: Performed[] = [];
  const pool: ImagePool = {
    ...inline,
    run(job, turn = {}) {
      performed.push({ operation: job.operation, turn });
      return inline.run(job);
    },
  };
  const textThreads = new TextThreads(1);
  const classified = vi.spyOn(textThreads, 'run');
  const routes = (model: string) => [{ provider: 'own', model }];
  const config = v.parse(configSchema, {
    dataDir: folder,
    providers: { own: { kind: 'sandbox' } },
    models: {
      picture: { type: 'image', routes: routes('image'), price: { perImage: 1 } },
      judge: { type: 'moderation', routes: routes('moderation'), price: { perRequest: 1 } },
    },
  });
  const gateway = new MediaGateway({
    config: () => config,
    store,
    files: await DiskStorage.open(join(folder, 'assets')),
    upstream: new UpstreamClient(),
    pool,
    textThreads,
    observer: {
      onAttempt: () => {},
      ended: () => {},
      fault: () => {},
      stalled: () => {},
      claimLost: () => {},
      callInterrupted: () => {},
    },
  });
  onTestFinished(async () => {
    gateway.runner.drain();
    await gateway.runner.close();
    await textThreads.close();
    await store.close();
  });
  const account = await store.createAccount({ name: 'ann', plan: 'paid', credits: 1_000_000_000 });
  const { id: accountId } = account;
  const key = `oriel_${randomUUID()}`;
  const bounds = { expiresAt: null, models: null, budget: null, rpm: 1000 };
  await store.createKey({ accountId, name: 'key', hash: hashOf(key), hint: 'hint', ...bounds });
  const holder = (await store.findKey(hashOf(key)))!;
  const path = join(folder, 'sent.png');
  const png = await quadrants({ width: 40, height: 30 }).png().toBuffer();
  writeFileSync(path, png);
  const sent = { path, size: png.length };
  const submit = async (kind: MediaKind, fields: object, images = [sent].slice(1)) => {
    const call = { kind, holder, images, idempotencyKey: null, publicUrl: 'http://localhost' };
    const task = await gateway.submit({ ...call, fields: { model: 'picture', ...fields } });
    const never = new AbortController().signal;
    const { error } = await gateway.waitFor(task, 60_000, never);
    expect(error).toBeNull();
  };
  return { gateway, holder, sent, png, submit, performed, classified, client: account.id };
}

// Otherwise one account's flood would be served before everybody else's requests.
test('all jobs of an account wait in the queue of that account', async () => {
  const { gateway, holder, sent, png, submit, performed, classified, client } = await media();
  const long = 'a lighthouse at dusk, '.repeat(200);
  const data = `data:image/png;base64,${png.toString('base64')}`;

  await gateway.upload(holder, sent);
  await submit('edit', { prompt: 'warmer' }, [sent]);
  await submit('image', { prompt: long, input_images: [data], size: '64x48' });
  const { signal } = new AbortController();
  const fields = { model: 'judge', input: long };
  await gateway.moderate({ holder, requestId: 'req_1', fields, signal });

  const operations = new Set(performed.map(({ operation }) => operation));
  expect([...operations].toSorted()).toEqual(['palette', 'render', 'verify']);
  expect(new Set(performed.map(({ turn }) => turn.client))).toEqual(new Set([client]));
  // The prompt, and the text of the moderation.
  expect(classified.mock.calls.map(([name, , , context]) => [name, context?.client])).toEqual([
    ['classify', client],
    ['classify', client],
  ]);
});

test('waiting jobs are limited for requests, not for paid tasks', async () => {
  const { holder, sent, submit, gateway, performed } = await media();
  await gateway.upload(holder, sent);
  expect(performed[0]!.turn.maxWaiting).toBeGreaterThan(0);
  performed.length = 0;
  await submit('image', { prompt: 'a garden', size: '64x48' });
  for (const { turn } of performed) expect(turn.maxWaiting).toBeUndefined();
});
