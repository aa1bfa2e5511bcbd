import { setTimeout as delay } from 'node:timers/promises';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { expect } from 'vitest';
import type { WebhookReceiver } from '../media/webhook-receiver.ts';

/** The running example of `config/nodes`. */
export interface Example {
  /** URL of the proxy in front of the nodes. */
  readonly proxy: string;
  /** URLs of the nodes. */
  readonly nodes: readonly string[];
  /** API key of the owner. */
  readonly key: string;
}

/** Requests as clients of the example send them. */
export async function checkExample(example: Example, receiver: WebhookReceiver): Promise<void> {
  await checkText(example);
  await checkTasks(example, receiver);
  await checkRevocation(example);
}

/** Sends requests through the proxy until the nodes have restarted. @returns the answers that are failures */
export async function failedRequests(
  { proxy, key }: Example,
  { run, isOver }: { readonly run: Promise<unknown>; readonly isOver: () => boolean },
): Promise<string[]> {
  const failures: string[] = [];
  let hasEnded = false;
  void run.then(() => {
    hasEnded = true;
  });
  const messages = [{ role: 'user', content: 'Hello' }];
  while (!isOver() && !hasEnded) {
    const answers = await Promise.all([
      send(proxy, '/v1/chat/completions', key, { model: 'sandbox-chat', messages }),
      send(proxy, '/v1/images/generations', key, {
        model: 'sandbox-image-any',
        prompt: 'waves',
        size: '64x64',
      }),
      // 400 requests a minute, of the 600 that a key may send: on a busy machine a restart takes minutes.
      delay(300),
    ]);
    for (const answer of answers) {
      if (answer && !answer.ok) failures.push(`${answer.status} ${await answer.text()}`);
      else await answer?.arrayBuffer();
    }
  }
  return failures;
}

/** More requests than nodes, so that the proxy spreads them over all. */
async function checkText({ proxy, key }: Example): Promise<void> {
  const openai = new OpenAI({ apiKey: key, baseURL: `${proxy}/v1`, maxRetries: 0 });
  const anthropic = new Anthropic({ apiKey: key, baseURL: proxy, maxRetries: 0 });
  const model = 'sandbox-chat';
  const messages = [{ role: 'user' as const, content: 'Hello' }];
  for (let round = 0; round < 4; round += 1) {
    const chat = await openai.chat.completions.create({ model, messages });
    expect(chat.choices[0]!.message.content).not.toBe('');
    let streamed = '';
    for await (const chunk of await openai.chat.completions.create({
      model,
      messages,
      stream: true,
    })) {
      streamed += chunk.choices[0]?.delta.content ?? '';
    }
    expect(streamed).toBe(chat.choices[0]!.message.content);
    const response = await openai.responses.create({ model, input: 'Hello' });
    expect(response.output_text).not.toBe('');
    const message = await anthropic.messages.create({ model, messages, max_tokens: 64 });
    expect(message.content[0]).toMatchObject({ type: 'text' });
  }
}

async function checkTasks(
  { proxy, nodes, key }: Example,
  receiver: WebhookReceiver,
): Promise<void> {
  const every = [proxy, ...nodes];
  const order = {
    model: 'sandbox-image-any',
    prompt: 'waves',
    size: '64x64',
    callback_url: receiver.url,
  };
  const headers = { 'idempotency-key': 'one order' };
  const path = '/v1/images/generations';
  const made = await send(nodes[0]!, path, key, order, headers);
  expect(made.status).toBe(202);
  const { task_id } = (await made.json()) as { task_id: string };
  const files = await Promise.all(
    every.map(async (url) => {
      const read = await send(url, `/v1/tasks/${task_id}`, key);
      expect(await read.json()).toMatchObject({ task_id });
      const again = await send(url, path, key, order, headers);
      expect(await again.json()).toMatchObject({ task_id });
      const waited = await send(url, `${path}/sync`, key, order, headers);
      expect(waited.status).toBe(200);
      return /\/assets\/[^"?]+/.exec(await waited.text())![0];
    }),
  );
  const task = await (await send(proxy, `/v1/tasks/${task_id}`, key)).text();
  const file = files[0]!;
  expect(new Set(files).size).toBe(1);
  expect(task).toContain(file);
  const bytes = await Promise.all(
    every.map(async (url) => {
      const answer = await fetch(`${url}${file}`);
      expect(answer.status).toBe(200);
      return Buffer.from(await answer.arrayBuffer()).toString('base64');
    }),
  );
  expect(new Set(bytes).size).toBe(1);
  await receiver.nth(1);
  // A second task's callback comes after any second one of the first.
  const next = await send(nodes[1]!, `${path}/sync`, key, order);
  expect(next.status).toBe(200);
  await receiver.nth(2);
  expect(receiver.received.filter(({ body }) => body.includes(task_id))).toHaveLength(1);
}

async function checkRevocation({ nodes, key }: Example): Promise<void> {
  const made = await send(nodes[0]!, '/v1/admin/keys/create', key, { account: 'owner' });
  const { result } = (await made.json()) as { result: { id: string; key: string } };
  const statuses = () =>
    Promise.all(nodes.map(async (url) => (await send(url, '/v1/account', result.key)).status));
  expect(await statuses()).toEqual([200, 200, 200]);
  expect((await send(nodes[1]!, '/v1/admin/keys/revoke', key, { id: result.id })).status).toBe(200);
  await expect.poll(statuses, { timeout: 15_000, interval: 50 }).toEqual([401, 401, 401]);
  const listed = await send(nodes[2]!, '/v1/admin/nodes', key);
  expect(JSON.stringify(await listed.json())).toContain(`:${new URL(nodes[0]!).port}"`);
}

function send(
  url: string,
  path: string,
  key: string,
  body?: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(`${url}${path}`, {
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  });
}
