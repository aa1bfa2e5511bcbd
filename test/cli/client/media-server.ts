import type { ServerResponse } from 'node:http';
import { type Asked, json, type MockDaemon, mockDaemon } from './mock-daemon.ts';

/** Answers one request; false leaves it to the server. */
type Answering = (asked: Asked, response: ServerResponse) => boolean | Promise<boolean>;

interface Choices {
  /** What is at `/assets/NAME`, by name. */
  readonly assets?: Readonly<Record<string, { bytes: Uint8Array; type: string }>>;
  /** Responses to requests of the task, in order; the last is repeated. */
  readonly looks?: readonly object[];
  readonly answer?: Answering;
}

const CATALOG = {
  object: 'list',
  data: [
    { id: 'talk', type: 'text' },
    { id: 'paint', type: 'image' },
    { id: 'paint-more', type: 'image' },
    { id: 'film', type: 'video' },
    { id: 'speak', type: 'audio' },
  ],
};

/** A whole task record that says what a test wants. */
export function record(changes: object): object {
  const task = { task_id: 'task_1', status: 'completed', model: 'paint', type: 'image' };
  return { ...task, result: null, error: null, ...changes };
}

/** The record of a completed image task. */
export function pictures(...urls: string[]): object {
  return record({ result: { created: 1, data: urls.map((url) => ({ url })) } });
}

/** A daemon as far as a client of media tasks sees it. */
export function mediaServer({
  assets = {},
  looks = [],
  answer,
}: Choices = {}): Promise<MockDaemon> {
  const left = [...looks];
  let uploads = 0;
  return mockDaemon(async (asked, response) => {
    const { method, path, headers } = asked;
    if (await answer?.(asked, response)) return;
    const asset = assets[path.replace('/assets/', '')];
    if (path === '/v1/models') return json(response, CATALOG);
    const model = CATALOG.data.find(({ id }) => path === `/v1/models/${id}`);
    if (model) return json(response, model);
    if (asset) return response.writeHead(200, { 'content-type': asset.type }).end(asset.bytes);
    if (path === '/v1/images/upload') {
      uploads += 1;
      return json(response, { url: `http://${headers.host}/assets/upload-${uploads}.png` });
    }
    if (method === 'POST') {
      const created = { task_id: 'task_1', status: 'pending', model: 'paint' };
      return json(response, { ...created, poll_url: '/v1/tasks/task_1' }, 202);
    }
    const look = left.length > 1 ? left.shift() : left[0];
    if (path === '/v1/tasks/task_1' && look) return json(response, look);
    json(response, { error: { type: 'invalid_request', message: 'there is no such thing' } }, 404);
  });
}
