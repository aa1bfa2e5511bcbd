import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { METRICS_TOKEN, sharedDaemon } from '../../daemon.ts';
import { quadrants } from '../../fixtures/images.ts';
import { wav } from '../../media/media-files.ts';
import { ROOT, words } from '../../oriel.ts';

interface Answer {
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}
interface Property {
  readonly examples?: readonly unknown[];
  readonly default?: unknown;
  readonly format?: string;
  readonly items?: Property;
}
type Properties = Readonly<Record<string, Property>>;
interface Body {
  readonly properties?: Properties;
  readonly required?: readonly string[];
}
interface Endpoint {
  readonly requestBody?: {
    readonly content: Readonly<
      Record<string, { readonly schema: Body; readonly example?: object }>
    >;
  };
  readonly operationId?: string;
  readonly summary?: string;
  readonly tags?: readonly string[];
  readonly security?: readonly object[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly example?: unknown;
  }[];
  readonly responses: Readonly<Record<string, Answer>>;
}
interface Document {
  readonly openapi: string;
  readonly info: { readonly version: string };
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Endpoint>>>>;
}

const daemon = sharedDaemon();
const ajv = new Ajv2020({ strict: false });
/** By their schemas: compiling takes a hundred times as long as a response. */
const validators = new Map<string, ValidateFunction>();

let fetched: Document | undefined;
const document = async (): Promise<Document> => {
  fetched ??= (await (await fetch(`${daemon().url}/openapi.json`)).json()) as Document;
  return fetched;
};

async function endpoints(): Promise<(readonly [method: string, path: string, Endpoint])[]> {
  const { paths } = await document();
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, endpoint]) => [method, path, endpoint] as const),
  );
}

/** What fills the parameters of a path so that something is found there. */
const PARAMETERS: Readonly<Record<string, string>> = {
  '{id}': 'sandbox-chat',
  '{model}': 'sandbox-chat',
};
/** What cannot be found on a new daemon, beside paths with other parameters. */
const NOT_FOUND = [
  '/v1/requests/{id}',
  '/v1/requests/{id}/bodies',
  '/v1/admin/requests/{id}',
  'post /v1/batches',
  '/assets/{name}',
  '/img/{id}',
  '/v1/admin/keys/set',
  '/v1/admin/keys/revoke',
];
/** Where work is only begun. */
const ACCEPTED = ['/v1/images/generations', '/v1/videos/generations', '/v1/audio/generations'];
/** The query with the examples of all required parameters. */
function queryFor({ parameters = [] }: Endpoint): string {
  const required = parameters.filter((one) => one.in === 'query' && one.required);
  const query = required.map(({ name, example }) => [name, String(example)] as [string, string]);
  return query.length > 0 ? `?${new URLSearchParams(query)}` : '';
}
/** Fills in the page's form as the console does: the first example or the default of every field. */
async function bodyFor(endpoint: Endpoint, path: string): Promise<RequestInit> {
  if (!endpoint.requestBody) return {};
  const { content } = endpoint.requestBody;
  const json = content['application/json'];
  if (json) {
    const body = JSON.stringify(json.example);
    return { body, headers: { 'content-type': 'application/json' } };
  }
  const { properties, required } = content['multipart/form-data']!.schema;
  const form = new FormData();
  for (const [name, { examples, default: preset, format, items }] of Object.entries(properties!)) {
    const isFile = (items?.format ?? format) === 'binary';
    if (isFile && required!.includes(name)) {
      const isAudio = path.startsWith('/v1/audio/');
      const png = await quadrants({ width: 160, height: 120 }).png().toBuffer();
      form.append(name, new Blob([new Uint8Array(isAudio ? wav() : png)]), 'file');
      continue;
    }
    if (isFile) continue;
    const filled = examples?.[0] ?? preset;
    expect(filled, `${name}: the page has nothing to fill in`).toBeDefined();
    form.append(name, String(filled));
  }
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
  if (validators.size === 0) ajv.addSchema({ components: (await document()).components }, 'oriel');
  const schema = JSON.stringify(content!.schema).replaceAll('"#/', '"oriel#/');
  const valid = validators.get(schema) ?? ajv.compile(JSON.parse(schema));
  validators.set(schema, valid);
  valid(await response.json());
  expect(valid.errors).toBeNull();
}

describe('the OpenAPI document', () => {
  it('is valid OpenAPI 3.1', async () => {
    const found = await document();
    expect(found.openapi).toBe('3.1.0');
    const { valid, errors } = await new Validator().validate({ ...found });
    expect(errors).toBeUndefined();
    expect(valid).toBe(true);
  });

  it('has the version of the package', async () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    expect((await document()).info.version).toBe(version);
  });

  it('has a summary and one tag for every endpoint', async () => {
    for (const [method, path, { summary, tags }] of await endpoints()) {
      expect(summary, `${method} ${path}`).toMatch(/\w/);
      expect(tags, `${method} ${path}`).toHaveLength(1);
    }
  });

  it('has the endpoints of the interface', async () => {
    const { paths } = await document();
    const endpoints = words`/v1/chat/completions /v1/responses /v1/messages /v1/completions
      /v1/messages/count_tokens /v1/models /v1/models/{id} /v1/moderations /v1/account
      /v1/account/credits /v1/account/usage /v1/account/callback-secret /v1/admin/usage /v1/tasks
      /v1/tasks/{task_id} /v1/tasks/{task_id}/callbacks /v1/images/generations /assets/{name}
      /v1/images/generations/sync /v1/images/edits /v1/images/upload /v1/videos/generations
      /v1/audio/generations`;
    const tools = words`convert-images resize-images crop-images rotate-images image-metadata
      color-palette image-hash`;
    const free = tools.map((name) => `/api/free/batch-${name}`);
    expect(Object.keys(paths)).toEqual(expect.arrayContaining([...endpoints, ...free]));
  });
});

describe('every response matches its schema in the document', () => {
  it('without a key', async () => {
    for (const [method, path, endpoint] of await endpoints()) {
      const response = await fetch(daemon().url + path, { method });
      const open = endpoint.security?.length === 0;
      const found = NOT_FOUND.includes(path) ? 404 : 200;
      expect(response.status, `${method} ${path}`).toBe(open ? found : 401);
      await hold(endpoint, response);
    }
  });

  it('with a paid key or the metrics token, for the bodies that the console fills in', async () => {
    for (const [method, path, endpoint] of await endpoints()) {
      const model = /mbedContents?$/.test(path) ? 'sandbox-embedding' : undefined;
      const place = path.replace(/\{\w+\}/g, (name) => model ?? PARAMETERS[name] ?? 'unknown');
      const response = await daemon().request(place + queryFor(endpoint), {
        method,
        ...(path === '/metrics' && { headers: { authorization: `Bearer ${METRICS_TOKEN}` } }),
        ...(method === 'post' && (await bodyFor(endpoint, path))),
      });
      const names: readonly string[] = path.match(/\{\w+\}/g) ?? [];
      const isMissing =
        names.some((name) => PARAMETERS[name] === undefined) ||
        [path, `${method} ${path}`].some((name) => NOT_FOUND.includes(name));
      const isSocket = `${method} ${path}` === 'get /v1/responses';
      if (path.includes('upload_id')) continue;
      const status = isMissing ? 404 : isSocket ? 426 : ACCEPTED.includes(path) ? 202 : 200;
      expect(response.status, `${method} ${path}`).toBe(status);
      await hold(endpoint, response);
    }
  });
});
