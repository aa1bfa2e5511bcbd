/** The server with a media gateway whose tasks the test ends. */

import { afterAll, beforeAll } from 'vitest';
import { newAssetId } from '../../../src/assets/storage/identifier.ts';
import type { StoredResult } from '../../../src/media/task/task-request.ts';
import type { NewAsset } from '../../../src/store/asset.ts';
import type { Task } from '../../../src/store/task.ts';
import { claimOf } from '../../store/consistency.ts';
import { KEYS, startServer, type TestServer } from '../test-server.ts';
import { ManualMedia, MODELS } from './manual-media.ts';

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Null if the response is not JSON. */
  readonly json: Readonly<Record<string, unknown>> | null;
}

export interface MediaServer extends TestServer {
  readonly media: ManualMedia;
  readonly drain: AbortController;
  ask(path: string, init?: RequestInit): Promise<Answer>;
  post(path: string, body: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** Writes a file for an asset to be recorded. */
  file(extension: string, mediaType: string, bytes: string): Promise<NewAsset>;
  /** Claims a task and completes it with files, the first of them with a revised prompt. */
  complete(task: Task, files: readonly NewAsset[], usage?: StoredResult['usage']): Promise<Task>;
}

/** One server for all tests of a file. */
export function mediaServer(config: Readonly<Record<string, object>> = {}): () => MediaServer {
  let server: MediaServer | undefined;
  beforeAll(async () => {
    server = await start(config);
  });
  afterAll(() => server?.close());
  return () => server!;
}

async function start(config: Readonly<Record<string, object>>): Promise<MediaServer> {
  let media: ManualMedia | undefined;
  const drain = new AbortController();
  const server = await startServer({
    config: { ...MODELS, ...config },
    draining: drain.signal,
    media: (store, settings) => {
      media = new ManualMedia(store, settings);
      return media;
    },
  });
  const ask = async (path: string, init: RequestInit = {}): Promise<Answer> => {
    const headers = new Headers(init.headers);
    if (!headers.has('authorization')) headers.set('authorization', `Bearer ${KEYS.a}`);
    const response = await fetch(new URL(path, server.url), { ...init, headers });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    const json = isJson && text !== '' ? (JSON.parse(text) as Answer['json']) : null;
    return { status: response.status, headers: response.headers, text, json };
  };
  return {
    ...server,
    media: media!,
    drain,
    ask,
    post: (path, body, headers = {}) =>
      ask(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      }),
    async file(extension, mediaType, text) {
      const id = newAssetId(extension);
      const written = await server.assets.write(id, Buffer.from(text, 'latin1'), 1e9);
      return { id, mediaType, ...written };
    },
    async complete({ id }, files, usage = null) {
      // The test may have claimed it before.
      const claim = (await server.store.claimTask(id)) ?? (await claimOf(server.store, id));
      const outputs = files.map((file, index) => ({
        asset: file.id,
        revisedPrompt: index === 0 ? 'a "lighthouse"' : null,
      }));
      const result: StoredResult = { created: 1_700_000_000, outputs, usage };
      return server.store.completeTask(claim, {
        result,
        charge: 0,
        counts: {},
        assets: files,
      });
    },
  };
}
