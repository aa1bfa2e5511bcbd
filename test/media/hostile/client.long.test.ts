import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import { quadrants } from '../../fixtures/images.ts';
import { expectCalm, hostileDaemon, post } from './hostile-daemon.ts';

const hostile = hostileDaemon();

const png = () => quadrants({ width: 16, height: 16 }).png().toBuffer();

/** Uploads an image of so many bytes. @returns its address */
async function upload(bytes: number): Promise<string> {
  const image = await png();
  const form = new FormData();
  // What comes after the end of a PNG is nothing to it.
  form.append('file', new Blob([new Uint8Array(image), new Uint8Array(bytes - image.length)]), 'a');
  const sent = await hostile().daemon.request('/v1/images/upload', { method: 'POST', body: form });
  return ((await sent.json()) as { url: string }).url;
}

describe('a hostile client', () => {
  it('cannot overflow the stack with a deep JSON part of a form', async () => {
    const form = new FormData();
    form.append('model', 'sandbox');
    form.append('image', new Blob([new Uint8Array(await png())]), 'a.png');
    // FormData has no types for texts.
    const { body, headers } = await wholeOf(new Response(form));
    const boundary = /boundary=(.*)$/.exec(headers)![1]!;
    const deep = '['.repeat(60_000) + ']'.repeat(60_000);
    const part = `--${boundary}\r\nContent-Disposition: form-data; name="prompt"\r\nContent-Type: application/json\r\n\r\n${deep}\r\n`;
    const response = await hostile().daemon.request('/v1/images/edits', {
      method: 'POST',
      headers: { 'content-type': headers },
      body: new Uint8Array(Buffer.concat([Buffer.from(part), body])),
    });
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { param: 'prompt' } },
    ]);
  });

  it('cannot exceed the limit for all images of a task', async () => {
    const url = await upload(27 * 2 ** 20);
    const { status, json } = await post(hostile(), '/v1/images/generations/sync', {
      model: 'sandbox',
      prompt: 'a',
      input_images: [url, url, url, url],
    });
    expect([status, json.error.code]).toEqual([400, 'file_too_large']);
    expect(json.error.message).toMatch(/^input_images\[3\]: /);
  });

  it.runIf(process.platform === 'linux')(
    'leaves no open file after aborted downloads',
    async () => {
      const { daemon } = hostile();
      const { pathname } = new URL(await upload(2 ** 23));
      const files = () => readdirSync(`/proc/${daemon.child.pid}/fd`).length;
      const before = files();
      // Between opening a file and sending it, too.
      for (const opened of [19, 0, 1, 2, 4, 8, 16, 0, 1, 2, 4, 8, 16]) {
        const socket = connect(Number(new URL(daemon.url).port), '127.0.0.1');
        socket.on('error', () => {});
        socket.write(`GET ${pathname} HTTP/1.1\r\nHost: oriel\r\n\r\n`.repeat(20));
        await vi.waitUntil(() => files() > before + opened, { timeout: 120_000, interval: 1 });
        socket.resetAndDestroy();
        await once(socket, 'close');
        await expect.poll(files).toBeLessThanOrEqual(before);
      }
    },
  );

  it('may disconnect many requests that wait for images', async () => {
    const leaving = new AbortController();
    const { daemon } = hostile();
    const waits = Array.from({ length: 16 }, (_, index) =>
      daemon
        .send(
          '/v1/images/generations/sync',
          { model: 'sandbox', size: '16x16', prompt: `sandbox:delay=1s ${index}` },
          { signal: leaving.signal },
        )
        .catch(() => 'left'),
    );
    const count = async (status: string) => {
      const list = await daemon.request(`/v1/tasks?limit=100&status=${status}`);
      return ((await list.json()) as { data: unknown[] }).data.length;
    };
    const open = async () => (await count('pending')) + (await count('processing'));
    await expect.poll(open).toBe(16);
    leaving.abort();
    expect(await Promise.all(waits)).toEqual(Array(16).fill('left'));
    await expect.poll(open).toBe(0);
    expect(await count('completed')).toBe(16);
  });

  it('causes no defect report by a sandbox failure', async () => {
    const { json } = await post(hostile(), '/v1/images/generations/sync', {
      model: 'sandbox',
      prompt: 'sandbox:fail=unknown',
    });
    expect(json.error).toMatchObject({ type: 'unknown', code: 'sandbox_failure' });
  });

  it('leaves the daemon idle without errors', () => expectCalm(hostile()));
});

async function wholeOf(form: Response): Promise<{ body: Buffer; headers: string }> {
  const headers = form.headers.get('content-type')!;
  return { headers, body: Buffer.from(await form.arrayBuffer()) };
}
