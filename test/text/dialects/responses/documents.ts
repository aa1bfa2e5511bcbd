import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Json } from '../../../../src/text/canonical/canonical.ts';
import { outsideFolder } from '../../../outside-material.ts';

const folder = outsideFolder('spec');

interface Document {
  readonly name: string;
  /** The fault of an event; null for none. */
  check(event: Json): string | null;
  checkAnswer(answer: unknown): string | null;
  /** The fault of a response or its items; null for none. */
  checkRequest(request: Json): string | null;
}

interface Schema {
  readonly properties?: { readonly type?: { readonly enum?: readonly string[] } };
}

/** OpenAI's document does not allow null here; its service and the Open Responses document do. */
function withoutNullUsage(event: Json): Json {
  const response = event['response'] as Json | undefined;
  if (!response || response['usage'] !== null) return event;
  const { usage: _, ...rest } = response;
  return { ...event, response: rest };
}

function documentOf(
  name: string,
  file: string,
  events: RegExp,
  answer: string,
  request: string,
  item: string | null,
): Document | null {
  if (!folder.isPresent) return null;
  const document = JSON.parse(folder.read(file)) as {
    components: { schemas: Record<string, Schema> };
  };
  const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false });
  ajv.addSchema(document, name);
  const compiled = new Map<string, ValidateFunction>();
  const validate = (schema: string, value: unknown) => {
    let check = compiled.get(schema);
    if (!check) {
      check = ajv.compile({ $ref: `${name}#/components/schemas/${schema}` });
      compiled.set(schema, check);
    }
    return check(value) ? null : `${schema}: ${ajv.errorsText(check.errors)}`;
  };
  const byType = new Map<string, string>();
  for (const [schema, { properties }] of Object.entries(document.components.schemas)) {
    const [type] = properties?.type?.enum ?? [];
    if (type && events.test(schema)) byType.set(type, schema);
  }
  return {
    name,
    check(event) {
      const schema = byType.get(String(event['type']));
      return schema
        ? validate(schema, name === 'openai' ? withoutNullUsage(event) : event)
        : `there is no event ${event['type']}`;
    },
    checkAnswer: (value) => validate(answer, value),
    checkRequest(value) {
      const items = item === null ? [] : (value['input'] as unknown[]);
      const faults = items.map((one) => validate(item!, one));
      return validate(request, { ...value, input: 'x' }) ?? faults.find((fault) => fault) ?? null;
    },
  };
}

/** The OpenAPI documents of the format that exist. */
export const documents: readonly Document[] = [
  documentOf(
    'openai',
    'openai.openapi.json',
    /^Response.*Event$/,
    'Response',
    'CreateResponse',
    // Its item schemas overlap, so that valid items match two of a oneOf.
    null,
  ),
  documentOf(
    'open-responses',
    'openresponses.openapi.json',
    /StreamingEvent$/,
    'ResponseResource',
    'CreateResponseBody',
    'ItemParam',
  ),
].filter((document) => document !== null);
