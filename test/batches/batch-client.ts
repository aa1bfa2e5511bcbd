import OpenAI, { toFile } from 'openai';
import type { Batch } from 'openai/resources/batches';
import { expect } from 'vitest';
import { OWNER_KEY } from '../daemon.ts';

export const clientOf = (url: string, apiKey = OWNER_KEY) =>
  new OpenAI({ apiKey, baseURL: `${url}/v1`, maxRetries: 5 });

const CHAT = '/v1/chat/completions';

/** One line of an input. */
export const lineOf = (id: string, body: object, more: object = {}) =>
  JSON.stringify({ custom_id: id, method: 'POST', url: CHAT, body, ...more });

export const chatBody = (content: string, model = 'priced') => ({
  model,
  messages: [{ role: 'user', content }],
});

export async function uploadLines(client: OpenAI, lines: readonly string[]): Promise<string> {
  const file = await toFile(Buffer.from(lines.join('\n')), 'input.jsonl');
  return (await client.files.create({ file, purpose: 'batch' })).id;
}

export async function createBatch(
  client: OpenAI,
  lines: readonly string[],
  endpoint: Batch['endpoint'] = CHAT,
): Promise<Batch> {
  const input_file_id = await uploadLines(client, lines);
  return client.batches.create({
    input_file_id,
    endpoint: endpoint as typeof CHAT,
    completion_window: '24h',
  });
}

const ENDED = ['completed', 'failed', 'expired', 'cancelled'];

/** The batch once it has ended. */
export async function endOf(client: OpenAI, id: string, timeout = 60_000): Promise<Batch> {
  let batch: Batch | undefined;
  const hasEnded = async () => {
    batch = await client.batches.retrieve(id).catch(() => undefined);
    return ENDED.includes(batch?.status ?? '');
  };
  await expect.poll(hasEnded, { interval: 50, timeout }).toBe(true);
  return batch!;
}

// biome-ignore lint/suspicious/noExplicitAny: results have the shapes of many endpoints
export type Result = any;

/** The lines of a file. */
export async function resultsIn(client: OpenAI, id: string | null | undefined): Promise<Result[]> {
  if (!id) return [];
  const text = await (await client.files.content(id)).text();
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}
