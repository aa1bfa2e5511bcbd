import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { sharedDaemon } from '../daemon.ts';
import { quadrants } from '../fixtures/images.ts';

interface Answer {
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}
interface Endpoint {
  readonly operationId?: string;
  readonly summary?: string;
  readonly tags?: readonly string[];
  readonly security?: readonly object[];
  readonly responses: Readonly<Record<string, Answer>>;
}
interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Endpoint>>>>;
}

const daemon = sharedDaemon();
const ajv = new Ajv2020({ strict: false });

const document = async () =>
  (await (await fetch(`${daemon().url}/openapi.json`)).json()) as Document;

async function endpoints(): Promise<(readonly [method: string, path: string, Endpoint])[]> {
  const { paths } = await document();
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, endpoint]) => [method, path, endpoint] as const),
  );
}

/** What fills the parameters of a path so that something is found there. */
const PARAMETERS: Readonly<Record<string, string>> = { '{id}': 'sandbox-chat' };
/** Paths for which nothing can be found on a new daemon. */
const NOT_FOUND = ['/v1/tasks/{task_id}', '/v1/tasks/{task_id}/callbacks', '/assets/{name}'];
/** Where work is only begun. */
const ACCEPTED = ['/v1/images/generations', '/v1/videos/generations', '/v1/audio/generations'];
/** Fields beside the files that a form cannot do without. */
const FIELDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '/api/free/batch-convert-images': { format: 'webp' },
  '/api/free/batch-resize-images': { width: '8' },
  '/api/free/batch-crop-images': { left: '0', top: '0', width: '4', height: '4' },
  '/api/free/batch-rotate-images': { angle: '90' },
  '/v1/images/edits': { model: 'sandbox-image', prompt: 'Paint it red' },
};
/** What the field of files is called where it is not `files`. */
const FILES: Readonly<Record<string, string>> = {
  '/v1/images/edits': 'image',
  '/v1/images/upload': 'file',
};

const prompt = 'A lighthouse';
const MESSAGES = [{ role: 'user', content: 'Hello' }];
/** What endpoints that take JSON cannot do without. */
const BODIES: Readonly<Record<string, object>> = {
  '/v1/chat/completions': { model: 'sandbox-chat', messages: MESSAGES },
  '/v1/responses': { model: 'sandbox-chat', input: 'Hello' },
  '/v1/messages': { model: 'sandbox-chat', max_tokens: 100, messages: MESSAGES },
  '/v1/images/generations': { model: 'sandbox-image', prompt },
  '/v1/images/generations/sync': { model: 'sandbox-image', prompt },
  '/v1/videos/generations': { model: 'sandbox-video', prompt },
  '/v1/audio/generations': { model: 'sandbox-audio', prompt },
  '/v1/moderations': { model: 'sandbox-moderation', input: prompt },
};

async function bodyFor(path: string): Promise<RequestInit> {
  const json = BODIES[path];
  if (json) {
    return { body: JSON.stringify(json), headers: { 'content-type': 'application/json' } };
  }
  const form = new FormData();
  for (const [name, value] of Object.entries(FIELDS[path] ?? {})) form.append(name, value);
  form.append(
    FILES[path] ?? 'files',
    new Blob([await quadrants({ width: 16, height: 16 }).png().toBuffer()]),
    'a.png',
  );
  return { body: form };
}

/** Holds an answer against what the document says of its status. */
async function hold(endpoint: Endpoint, response: Response): Promise<void> {
  const { status } = response;
  const said = endpoint.responses[status] ?? endpoint.responses[`${String(status)[0]}XX`];
  expect(said, `status ${status} is documented`).toBeDefined();
  const type = response.headers.get('content-type')!.split(';')[0]!;
  const content = said!.content?.[type];
  expect(content, `${type} is documented for ${status}`).toBeDefined();
  if (type !== 'application/json') return;
  const valid = ajv.compile(content!.schema);
  valid(await response.json());
  expect(valid.errors).toBeNull();
}

describe('the document', () => {
  it('is valid OpenAPI 3.1', async () => {
    const found = await document();
    expect(found.openapi).toBe('3.1.0');
    const { valid, errors } = await new Validator().validate({ ...found });
    expect(errors).toBeUndefined();
    expect(valid).toBe(true);
  });

  it('says of every endpoint what it does and to which group it belongs', async () => {
    for (const [method, path, { summary, tags }] of await endpoints()) {
      expect(summary, `${method} ${path}`).toMatch(/\w/);
      expect(tags, `${method} ${path}`).toHaveLength(1);
    }
  });

  it('holds the endpoints that the interface names', async () => {
    const { paths } = await document();
    expect(Object.keys(paths)).toEqual(
      expect.arrayContaining([
        '/api/free/batch-convert-images',
        '/api/free/batch-resize-images',
        '/api/free/batch-crop-images',
        '/api/free/batch-rotate-images',
        '/api/free/batch-image-metadata',
        '/api/free/batch-color-palette',
        '/api/free/batch-image-hash',
        '/v1/chat/completions',
        '/v1/responses',
        '/v1/messages',
        '/v1/account',
        '/v1/account/credits',
        '/v1/account/usage',
        '/v1/models',
        '/v1/models/{id}',
        '/v1/tasks',
        '/v1/tasks/{task_id}',
        '/v1/tasks/{task_id}/callbacks',
        '/v1/images/generations',
        '/v1/images/generations/sync',
        '/v1/images/edits',
        '/v1/images/upload',
        '/v1/videos/generations',
        '/v1/audio/generations',
        '/v1/moderations',
        '/v1/account/callback-secret',
        '/assets/{name}',
      ]),
    );
  });
});

describe('every endpoint answers as the document says', () => {
  it('without a key', async () => {
    for (const [method, path, endpoint] of await endpoints()) {
      const response = await fetch(daemon().url + path, { method });
      const open = endpoint.security?.length === 0;
      const found = NOT_FOUND.includes(path) ? 404 : 200;
      expect(response.status, `${method} ${path}`).toBe(open ? found : 401);
      await hold(endpoint, response);
    }
  });

  it('with the key of a paid account', async () => {
    for (const [method, path, endpoint] of await endpoints()) {
      const place = path.replace(/\{\w+\}/g, (name) => PARAMETERS[name] ?? 'unknown');
      const response = await daemon().request(place, {
        method,
        ...(method === 'post' && (await bodyFor(path))),
      });
      const status = NOT_FOUND.includes(path) ? 404 : ACCEPTED.includes(path) ? 202 : 200;
      expect(response.status, `${method} ${path}`).toBe(status);
      await hold(endpoint, response);
    }
  });
});
