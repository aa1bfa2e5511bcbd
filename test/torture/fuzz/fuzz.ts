import { png } from '../../media/media-files.ts';
import { answerFaults, endOf, eventsOf } from '../answer.ts';
import {
  type Answer,
  ask,
  BOUNDARY,
  type FormPart,
  form,
  jsonOf,
  NoAnswer,
  type Outgoing,
} from '../client.ts';
import type { Outages } from '../outages.ts';
import { Random } from '../random.ts';
import { DIALECTS, PATHS, textBody } from '../tenants/good-work.ts';
import type { Violations } from '../violations.ts';
import { mutatedJson, strangeText, strangeValue, writtenJson } from './json.ts';
import { type Schema, sampleOf } from './schema.ts';

interface Operation {
  readonly parameters?: readonly {
    readonly in: string;
    readonly name: string;
    readonly schema?: Schema;
  }[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema?: Schema }>>;
  };
}

/** Parts of an OpenAPI document that the fuzzer reads. */
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

export const KINDS = ['json', 'form', 'stream', 'query', 'header'] as const;
export type Kind = (typeof KINDS)[number];

export interface FuzzOptions {
  readonly url: string;
  readonly keys: readonly string[];
  /** Seed of the inputs: the same one gives the same inputs, in the same order within each kind. */
  readonly seed: string;
  readonly outages: Outages;
  readonly violations: Violations;
  /** Milliseconds without a response after which an input counts as hanging. */
  readonly hangTimeout: number;
  /** Concurrent inputs of each kind. */
  readonly atOnce: number;
  /** Returns false once fuzzing must end. */
  readonly isRunning: () => boolean;
  /** One input alone, by its kind and number. */
  readonly only?: { readonly kind: Kind; readonly number: number };
}

/** Models by path, so that most inputs pass the first check. */
const MODELS: readonly (readonly [RegExp, readonly string[]])[] = [
  [/chat|responses|messages|v1beta/, ['to-chat', 'to-responses', 'to-messages', 'sandbox-chat']],
  [/images/, ['image', 'native', 'free-image']],
  [/videos/, ['video']],
  [/audio/, ['audio']],
  [/moderations/, ['moderation']],
];

/** Sends inputs of all kinds while `isRunning`. @returns the number of inputs, by kind */
export async function fuzz(options: FuzzOptions): Promise<Record<Kind, number>> {
  const document = await documentOf(options.url);
  const requests: Record<Kind, number> = { json: 0, form: 0, stream: 0, query: 0, header: 0 };
  const { only } = options;
  if (only !== undefined) {
    await tryInput(only.kind, only.number, document, options);
    requests[only.kind] = 1;
    return requests;
  }
  const worker = async (kind: Kind) => {
    while (options.isRunning()) {
      const number = requests[kind];
      requests[kind] += 1;
      await tryInput(kind, number, document, options);
    }
  };
  await Promise.all(
    KINDS.flatMap((kind) => Array.from({ length: options.atOnce }, () => worker(kind))),
  );
  return requests;
}

async function documentOf(url: string): Promise<Document> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      const answer = await ask(url, { path: '/openapi.json' });
      if (answer.status === 200) return jsonOf(answer) as Document;
    } catch (error) {
      if (attempt > 50) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

async function tryInput(
  kind: Kind,
  number: number,
  document: Document,
  options: FuzzOptions,
): Promise<void> {
  const random = new Random(`${options.seed}:${kind}:${number}`);
  const { outages, violations } = options;
  const input = INPUTS[kind](random, document, `${options.seed}.${number}`);
  const outgoing = { key: random.pick(options.keys), timeout: options.hangTimeout, ...input };
  const from = performance.now();
  const violates = (rule: string, detail: string) => {
    const sent = Buffer.isBuffer(input.body)
      ? input.body.toString('latin1')
      : JSON.stringify(input.body);
    const text = `--case ${kind}:${number} ${input.method ?? 'GET'} ${input.path.slice(0, 100)}: ${detail}`;
    violations.add(rule, `${text} | ${sent?.slice(0, 200)}`);
  };
  try {
    const answer = await ask(options.url, outgoing);
    const disturbed = outages.scopesBetween(from, performance.now()).size > 0;
    const faults = [...answerFaults(input.path, answer), ...contentFaults(input, answer)];
    if (!disturbed)
      for (const fault of faults) violates('fuzzed input gets a well-formed response', fault);
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    if (outages.scopesBetween(from, performance.now()).has('all')) return;
    violates('fuzzed input gets a response', error.message);
  }
}

/** Errors in the content of a successful response. */
function contentFaults({ path, body = '' }: Outgoing, answer: Answer): string[] {
  if (answer.status >= 400 || !path.startsWith('/v1/')) return [];
  const type = String(answer.headers['content-type'] ?? '');
  const start = () => answer.body.subarray(-200).toString();
  if (type.includes('event-stream')) {
    const events = eventsOf(answer.body.toString());
    if (events === null) return [`a stream that breaks off: ${start()}`];
    const dialect = DIALECTS.find((each) => PATHS[each] === path)!;
    // An upstream's stream in the client's own format is passed on unchanged.
    const isTranslated = !JSON.stringify(body).includes(`"to-${dialect}"`);
    if (isTranslated && events.some(({ data }) => data === undefined)) {
      return [`an event that is no JSON: ${start()}`];
    }
    return endOf(path, events) === 'none' ? [`a stream without its end: ${start()}`] : [];
  }
  if (type.includes('json') && answer.body.length > 0 && jsonOf(answer) === undefined) {
    return [`JSON that is none: ${start()}`];
  }
  return [];
}

type Input = (random: Random, document: Document, name: string) => Outgoing;

function endpoints(document: Document, type: string): (readonly [path: string, schema: Schema])[] {
  return Object.entries(document.paths).flatMap(([path, methods]) => {
    const schema = methods['post']?.requestBody?.content[type]?.schema;
    return schema === undefined ? [] : [[path, schema] as const];
  });
}

function modelFor(path: string, random: Random): string {
  const found = MODELS.find(([pattern]) => pattern.test(path));
  return random.pick(found?.[1] ?? ['image']);
}

const json: Input = (random, document) => {
  const [path, schema] = random.pick(endpoints(document, 'application/json'));
  let body = sampleOf(schema, random) as Record<string, unknown>;
  if (random.chance(0.95)) body['model'] = modelFor(path, random);
  // Small pictures only: other scenarios test the limits of large ones.
  if (/images|videos/.test(path) && random.chance(0.9)) body['size'] = '64x64';
  if (random.chance(0.7)) body = mutatedJson(body, random);
  const headers = {
    'content-type': random.chance(0.97) ? 'application/json' : strangeType(random),
  };
  const place = path.replace('{model}', modelFor(path, random));
  return { method: 'POST', path: place, headers, body: writtenJson(body, random) };
};

function strangeType(random: Random): string {
  return random.pick([
    'application/json; charset=utf-16',
    'application/json; charset="',
    'text/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'multipart/form-data; boundary=""',
    `multipart/form-data; boundary=${'b'.repeat(500)}`,
    '*/*',
  ]);
}

const formInput: Input = (random, document) => {
  const [path, schema] = random.pick(endpoints(document, 'multipart/form-data'));
  const parts: FormPart[] = [];
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const isFile = property.format === 'binary' || property.items?.format === 'binary';
    const wanted = (schema.required ?? []).includes(name) || random.chance(0.3);
    if (!wanted && !(isFile && name === 'file')) continue;
    const count = random.chance(0.9) ? 1 : random.pick([0, 2, 21]);
    for (let index = 0; index < count; index += 1)
      parts.push(partOf(name, property, isFile, path, random));
  }
  if (random.chance(0.15)) parts.push({ name: strangeText(random), value: strangeText(random) });
  const { body, headers } = form(parts);
  return {
    method: 'POST',
    path,
    headers: headersOf(headers, random),
    body: brokenForm(body, random),
  };
};

function partOf(
  name: string,
  property: Schema,
  isFile: boolean,
  path: string,
  random: Random,
): FormPart {
  if (isFile) {
    let value = png(1 + random.below(40), 1 + random.below(40), random.below(256));
    if (random.chance(0.3)) value = value.subarray(0, random.below(value.length + 1));
    if (random.chance(0.2)) value = Buffer.concat([value, random.bytes(20)]);
    if (random.chance(0.1)) value = random.bytes(60);
    return {
      name,
      value,
      filename: random.chance(0.7) ? 'a.png' : strangeText(random).replaceAll('"', ''),
    };
  }
  if (name === 'model') return { name, value: modelFor(path, random) };
  if (name === 'size') return { name, value: '64x64' };
  const value = random.chance(0.8) ? sampleOf(property, random) : strangeValue(random);
  return { name, value: typeof value === 'string' ? value : (JSON.stringify(value) ?? '') };
}

function headersOf(headers: Record<string, string>, random: Random): Record<string, string> {
  return random.chance(0.95) ? headers : { 'content-type': strangeType(random) };
}

function brokenForm(body: Buffer, random: Random): Buffer {
  switch (random.below(10)) {
    case 0:
      return body.subarray(0, random.below(body.length + 1));
    case 1: {
      const at = random.below(body.length + 1);
      return Buffer.concat([
        body.subarray(0, at),
        random.bytes(1 + random.below(10)),
        body.subarray(at),
      ]);
    }
    case 2:
      return Buffer.from(body.toString('latin1').replaceAll(BOUNDARY, `${BOUNDARY}x`), 'latin1');
    case 3:
      return Buffer.from(body.toString('latin1').replaceAll('\r\n', '\n'), 'latin1');
    case 4:
      return Buffer.concat([body, body]);
    default:
      return body;
  }
}

const stream: Input = (random, _document, name) => {
  const dialect = random.pick(DIALECTS);
  const path = PATHS[dialect];
  const model = `to-${random.pick(['chat', 'responses', 'messages'])}`;
  const more = {
    stream: random.chance(0.7),
    ...(dialect === 'chat' && random.chance(0.3) && { stream_options: { include_usage: true } }),
  };
  const word = name.replaceAll(/[^\w.:-]/g, '_');
  return { method: 'POST', path, body: textBody(dialect, model, `torture:fuzz=${word}`, more) };
};

/** A stream that lasts until the client leaves; others test it. */
const ENDLESS = '/v1/tasks/events';

const query: Input = (random, document) => {
  const gets = Object.entries(document.paths).filter(
    ([path, methods]) => methods['get'] !== undefined && path !== ENDLESS,
  );
  const [template, methods] = random.pick(gets);
  const parameters = methods['get']?.parameters ?? [];
  const encoded = (value: unknown) => {
    const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
    // A lone surrogate cannot be encoded; its bytes in WTF-8 can be sent.
    return text
      .slice(0, 3000)
      .replaceAll(/[\ud800-\udfff]/g, '\ufffd')
      .replaceAll(/[^\w.~-]/gu, (character) => encodeURIComponent(character));
  };
  const path = template.replaceAll(/\{\w+\}/g, () =>
    random.pick([encoded(strangeText(random)), 'task_x', '%ED%A0%80', '%', '..%2f..', 'to-chat']),
  );
  const pairs = parameters
    .filter((parameter) => parameter.in === 'query' && random.chance(0.6))
    .map(({ name, schema = {} }) => {
      const value = random.chance(0.5) ? sampleOf(schema, random) : strangeValue(random);
      return `${random.chance(0.95) ? name : encoded(strangeText(random))}=${encoded(value)}`;
    });
  if (random.chance(0.1)) pairs.push(...pairs);
  if (random.chance(0.1))
    pairs.push(random.pick(['%', '&&&', '=', 'a[b]=c', '__proto__=1', 'limit=1&limit=2']));
  return { path: `${path}${pairs.length > 0 ? '?' : ''}${pairs.join('&')}` };
};

/** Headers that the daemon reads. */
const HEADERS = [
  'authorization',
  'x-api-key',
  'idempotency-key',
  'x-request-id',
  'range',
  'if-range',
  'if-none-match',
  'accept',
  'accept-encoding',
  'content-type',
  'expect',
  'anthropic-version',
  'anthropic-beta',
  'x-forwarded-for',
  'forwarded',
  'origin',
  'upgrade',
  'cookie',
];

const header: Input = (random) => {
  const headers: Record<string, string> = {};
  const count = 1 + random.below(5);
  for (let index = 0; index < count; index += 1) {
    const value = random.chance(0.5)
      ? strangeText(random)
      : random.pick([
          'bytes=0-',
          'bytes=5-1',
          'bytes=0-0,1-1',
          'Bearer',
          'Bearer  x',
          '*',
          'gzip;q=x',
          '"',
          '100-continue',
        ]);
    // Node does not send malformed headers; the attack with malformed requests sends raw bytes.
    headers[random.pick(HEADERS)] = value
      .replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '?')
      .slice(0, 4000);
  }
  delete headers['upgrade'];
  if (headers['expect'] !== undefined) headers['expect'] = 'something';
  const isPost = random.chance(0.4);
  const path = random.pick([
    '/v1/models',
    '/v1/account',
    '/v1/tasks',
    '/assets/x',
    '/healthz',
    '/openapi.json',
    '/docs',
  ]);
  if (!isPost) return { path, headers };
  const body = textBody('chat', 'to-chat', 'Hello');
  return { method: 'POST', path: '/v1/chat/completions', headers, body };
};

const INPUTS: Readonly<Record<Kind, Input>> = { json, form: formInput, stream, query, header };
