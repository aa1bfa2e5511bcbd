import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it, test } from 'vitest';
import { outsideFolder, SKIPPED } from '../outside-material.ts';
import { WEATHER } from './conversation.ts';
import { DIALECTS, modelTo, sharedGateway } from './gateway-daemon.ts';
import type { DialectName } from './mock-upstream.ts';
import { eventsOf, plainBody, send } from './raw.ts';
import { type Script, USAGE } from './script.ts';

// Validates answers against the OpenAPI documents of the formats.

const folder = outsideFolder('spec');
const FILES = { openai: 'openai.openapi.json', open: 'openresponses.openapi.json' } as const;
const absent = !folder.isPresent;

test.skipIf(!absent)('answers are held against the documents', ({ skip }) => {
  skip(SKIPPED);
});

// biome-ignore lint/suspicious/noExplicitAny: documents of many shapes
type Loose = any;

/** Ignores keywords such as `x-stainless-const` and formats such as `unixtime`, which Ajv does not know. */
const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
const documents = {} as Record<keyof typeof FILES, Loose>;

/**
 * Adapts the documents to JSON Schema and to what OpenAI sends:
 * - `nullable` is a keyword of OpenAPI 3.0 that the 3.1 document still uses: it allows null, too.
 * - OpenAI sends null for `usage` of an unfinished response and always for `user`; its clients and the
 *   Open Responses document allow null for `usage`.
 */
function adapted(schema: Loose, path: string): Loose {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map((item) => adapted(item, path));
  const { nullable, ...rest } = schema;
  const inner = Object.fromEntries(
    Object.entries(rest).map(([key, value]) => [key, adapted(value, `${path}/${key}`)]),
  );
  const isNull = nullable === true || NULLABLE_IN_PRACTICE.some((end) => path.endsWith(end));
  return isNull ? { anyOf: [inner, { type: 'null' }] } : inner;
}
const NULLABLE_IN_PRACTICE = [
  '/Response/allOf/properties/usage',
  '/ModelResponseProperties/properties/user',
];

if (!absent) {
  for (const [name, file] of Object.entries(FILES)) {
    const document = JSON.parse(folder.read(file)) as Loose;
    documents[name as 'open'] = document;
    const components = adapted(document.components, '');
    ajv.addSchema({ $id: `doc:${name}`, components }, `doc:${name}`);
  }
}

function faultsOf(document: keyof typeof FILES, schema: string, value: unknown): string[] {
  const $ref = `doc:${document}#/components/schemas/${schema}`;
  const id = `use:${document}:${schema}`;
  const validate = ajv.getSchema(id) ?? ajv.compile({ $id: id, $ref });
  if (validate(value)) return [];
  return validate.errors!.map(({ instancePath, message, params }) =>
    [schema, instancePath, message, JSON.stringify(params)].join(' '),
  );
}

/** Names of the schemas of responses events, by event type. */
function eventSchemas(document: keyof typeof FILES): Map<string, string> {
  if (absent) return new Map();
  const { schemas } = documents[document].components;
  return new Map(
    Object.entries(schemas).flatMap(([name, schema]: [string, Loose]) => {
      const isEvent = document === 'open' ? /StreamingEvent$/ : /^Response.*Event$/;
      const type = schema.properties?.type;
      const value = type?.const ?? type?.enum?.[0];
      return isEvent.test(name) && value ? [[value, name] as const] : [];
    }),
  );
}

const eventsOfOpenAi = eventSchemas('openai');
const eventsOfOpen = eventSchemas('open');

const SCRIPTS: Readonly<Record<string, Script>> = {
  'text and reasoning': {
    steps: [{ reasoning: 'Hm.', signature: 'sig', encrypted: 'enc' }, { text: 'Hello ä' }],
    usage: USAGE,
  },
  calls: {
    steps: [
      { text: 'I look.' },
      { call: 'get_weather', id: 'call_1', arguments: '{"city":"Oslo"}' },
      { call: 'get_weather', id: 'call_2', arguments: '{"city":"Rome"}' },
    ],
    usage: USAGE,
  },
  'an answer that ends at the limit': { steps: [{ text: 'Half' }], stop: 'length', usage: USAGE },
  'an empty answer': { steps: [], usage: USAGE },
  'a refusal': { steps: [{ refusal: 'No.' }], usage: USAGE },
  'no usage': { steps: [{ text: 'Uncounted' }], usage: null },
};

const gateway = sharedGateway();

const cases = Object.entries(SCRIPTS).flatMap(([name, script]) =>
  DIALECTS.map((upstream) => [name, upstream, script] as const),
);

/** The body of a response to a request with one tool. */
async function bodyOf(client: DialectName, upstream: DialectName, more: object = {}) {
  const tools =
    client === 'chat'
      ? [{ type: 'function', function: WEATHER }]
      : [{ type: 'function', ...WEATHER, strict: null }];
  const body = plainBody(client, modelTo(upstream), { tools, ...more });
  return (await send(gateway().daemon, client, body)).text();
}

describe.skipIf(absent)('chat answers match the OpenAI document', () => {
  it.each(cases)('%s, upstream %s', async (_, upstream, script) => {
    gateway().upstream.play(script);
    const whole = JSON.parse(await bodyOf('chat', upstream)) as Loose;
    expect(faultsOf('openai', 'CreateChatCompletionResponse', whole)).toEqual([]);
    const streamed = await bodyOf('chat', upstream, {
      stream: true,
      stream_options: { include_usage: true },
    });
    const events = eventsOf(streamed);
    expect(events.pop()!.data).toBe('[DONE]');
    for (const { data } of events) {
      expect(faultsOf('openai', 'CreateChatCompletionStreamResponse', data)).toEqual([]);
    }
  });
});

describe.skipIf(absent)('responses answers match the OpenAI and Open Responses documents', () => {
  it.each(cases)('%s, upstream %s', async (_, upstream, script) => {
    gateway().upstream.play(script);
    const whole = JSON.parse(await bodyOf('responses', upstream)) as Loose;
    expect(faultsOf('openai', 'Response', whole)).toEqual([]);
    // A responses upstream is passed on; the mock writes it by OpenAI's document only.
    if (upstream !== 'responses') expect(faultsOf('open', 'ResponseResource', whole)).toEqual([]);
    const streamed = eventsOf(await bodyOf('responses', upstream, { stream: true }));
    for (const { event, data } of streamed) {
      expect(event).toBe(data.type);
      const official = eventsOfOpenAi.get(data.type);
      expect(official, data.type).toBeDefined();
      expect(faultsOf('openai', official!, data)).toEqual([]);
      const open = eventsOfOpen.get(data.type);
      if (upstream === 'responses' || open === undefined) continue;
      expect(faultsOf('open', open, data)).toEqual([]);
    }
    const last = streamed.at(-1)!.data.response;
    const items = streamed
      .filter(({ data }) => data.type === 'response.output_item.done')
      .map(({ data }) => data.item);
    expect(last.output).toEqual(items);
  });

  it.each(DIALECTS)('an error after the start, upstream %s', async (upstream) => {
    gateway().upstream.play({
      steps: [{ text: 'Once upon a time' }],
      usage: USAGE,
      fault: { after: 5, how: 'error-event' },
    });
    for (const { data } of eventsOf(await bodyOf('responses', upstream, { stream: true }))) {
      expect(faultsOf('openai', eventsOfOpenAi.get(data.type)!, data)).toEqual([]);
    }
  });
});
