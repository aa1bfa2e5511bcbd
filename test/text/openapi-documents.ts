import { Ajv2020 } from 'ajv/dist/2020.js';
import { outsideFolder } from '../outside-material.ts';

// The OpenAPI documents of the formats, as far as the folder ORIEL_SHARED has them.

const folder = outsideFolder('spec');
const FILES = { openai: 'openai.openapi.json', open: 'openresponses.openapi.json' } as const;
export const areAbsent = !folder.isPresent;

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

if (!areAbsent) {
  for (const [name, file] of Object.entries(FILES)) {
    const document = JSON.parse(folder.read(file)) as Loose;
    documents[name as 'open'] = document;
    const components = adapted(document.components, '');
    ajv.addSchema({ $id: `doc:${name}`, components }, `doc:${name}`);
  }
}

/** The faults of a value by a schema of a document. */
export function faultsOf(document: keyof typeof FILES, schema: string, value: unknown): string[] {
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
  if (areAbsent) return new Map();
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

const EVENTS = { openai: eventSchemas('openai'), open: eventSchemas('open') };

/** The faults of an event of responses. */
export function faultsOfEvent(document: keyof typeof FILES, event: Loose): string[] {
  const schema = EVENTS[document].get(event.type);
  return schema === undefined
    ? [`there is no event ${event.type}`]
    : faultsOf(document, schema, event);
}
