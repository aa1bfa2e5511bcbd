import { createHash } from 'node:crypto';
import { fastifySwagger } from '@fastify/swagger';
import { toJsonSchema } from '@valibot/to-json-schema';
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  type RouteOptions,
} from 'fastify';
import type * as v from 'valibot';
import { rethrowAfter } from '../../flow.ts';
import { addEndpoint, SCHEMA_CONTROLLER } from '../request/endpoint.ts';
import { errorBody, jsonLine } from '../responses/errors.ts';
import { matchesTag } from '../responses/range.ts';

type JsonSchema = Record<string, unknown>;

function isValibot(schema: unknown): schema is v.GenericSchema {
  return typeof schema === 'object' && schema !== null && '~standard' in schema;
}

/**
 * @param schema one of Valibot or JSON Schema, or a function that makes the latter, which takes time at the start
 * @param side `input` for requests, `output` for responses
 */
export function jsonSchemaOf(schema: unknown, side: 'input' | 'output'): JsonSchema {
  if (typeof schema === 'function') return schema();
  if (!isValibot(schema)) return schema as JsonSchema;
  // JSON Schema cannot express a check in code; the field's description has it.
  const { $schema: _, ...rest } = toJsonSchema(schema, { typeMode: side, errorMode: 'ignore' });
  return rest as JsonSchema;
}

const INTRODUCTION = `One gateway to text, image, video and audio models, and batch image tools.
Every endpoint takes \`Authorization: Bearer <API key>\`. Every error body is
\`{"error": {"type", "message", "param", "code"}}\`. An empty field of a form counts as left out.`;

/**
 * The properties of a form, each with the value that the console's page of the API fills in: the sample's, else
 * the default, else none. Tools such as Swagger UI make up a value for a property without an example, and send it.
 */
export function withSample(
  properties: Readonly<Record<string, object>>,
  sample: Readonly<Record<string, unknown>>,
): Readonly<Record<string, object>> {
  const filled = Object.entries(properties).map(([name, property]) => {
    const value = sample[name] ?? ('default' in property ? property.default : '');
    return [name, { ...property, examples: [value] }];
  });
  return Object.fromEntries(filled);
}

/** Descriptions of the error responses of every endpoint. */
const FAILURES = {
  '4XX': 'The request was refused; `error` has the reason',
  '5XX': 'The server or an upstream failed; `error` has the reason',
};

/** Parts of the document in their order. */
const TAGS = [
  ...['Account', 'Administration', 'Models', 'Text', 'Images', 'Videos', 'Audio', 'Moderation'],
  ...['Tasks', 'Assets', 'Batch images', 'Operation'],
];

/** The paths by parts, whichever was added first. */
function inOrder(paths: object): object {
  const place = ([, methods]: [string, Record<string, { tags?: string[] }>]) =>
    TAGS.indexOf(Object.values(methods)[0]?.tags?.[0] ?? '');
  return Object.fromEntries(Object.entries(paths).sort((a, b) => place(a) - place(b)));
}

/** Name of the shared schema of errors. */
const ERROR_SCHEMA = 'Error';

interface DocumentOptions {
  readonly version: string;
  /** URL of the endpoints, if it is not that of the document. */
  readonly url?: () => string;
}

/**
 * Collects the routes that are added after this call.
 *
 * @returns a function for the OpenAPI document, made once: routes do not change once the server listens
 */
export function collectRoutes(
  server: FastifyInstance,
  { version, url }: DocumentOptions,
): () => Promise<SendDocument> {
  const routes: RouteOptions[] = [];
  server.addHook('onRoute', (route) => {
    if (route.schema && route.method !== 'HEAD') routes.push(route);
  });
  let send: Promise<SendDocument> | undefined;
  return () => {
    send ??= documentOf(routes, version, server.log)
      .then((document) => {
        const servers = url && { servers: [{ url: url() }] };
        return documentSender(jsonLine({ ...document, ...servers }));
      })
      .catch(
        rethrowAfter(() => {
          send = undefined;
        }),
      );
    return send;
  };
}

/**
 * The document of routes, from a server of its own: most daemons are never asked for it.
 *
 * @param loggerInstance without which Fastify would load one, for which there may be no descriptor
 */
async function documentOf(
  routes: readonly RouteOptions[],
  version: string,
  loggerInstance: FastifyBaseLogger,
): Promise<object> {
  const server = fastify({
    loggerInstance,
    exposeHeadRoutes: false,
    schemaController: SCHEMA_CONTROLLER,
  });
  // A shared schema: every endpoint refers to it twice, and it lists all error codes.
  server.addSchema({ $id: ERROR_SCHEMA, ...jsonSchemaOf(errorBody, 'output') });
  await server.register(fastifySwagger, {
    refResolver: { buildLocalReference: ({ $id }) => String($id) },
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Oriel',
        version,
        description: INTRODUCTION,
      },
      components: {
        securitySchemes: { key: { type: 'http', scheme: 'bearer' } },
      },
      security: [{ key: [] }],
    },
    transform: ({ schema, url }) => {
      const { body, querystring, params, response, ...rest } = schema as Record<string, unknown>;
      const responses = Object.entries((response ?? {}) as Record<string, unknown>).map(
        ([status, declared]) => [status, responseOf(declared)],
      );
      const failures = Object.entries(FAILURES).map(([status, description]) => [
        status,
        { description, content: { 'application/json': { schema: { $ref: `${ERROR_SCHEMA}#` } } } },
      ]);
      return {
        // The wildcard stands for one identifier, which may have slashes.
        url: url.replace('*', ':id'),
        schema: {
          ...rest,
          ...(body !== undefined && { body: jsonSchemaOf(body, 'input') }),
          ...(querystring !== undefined && { querystring: jsonSchemaOf(querystring, 'input') }),
          ...(params !== undefined && { params: jsonSchemaOf(params, 'input') }),
          response: Object.fromEntries([...responses, ...failures]),
        },
      };
    },
  });
  for (const { method, url, schema = {}, handler } of routes)
    server.route({ method, url, schema, handler });
  await server.ready();
  const document = server.swagger();
  return { ...document, paths: inOrder(document.paths ?? {}) };
}

/** The entry of a response that comes as JSON or as server-sent events, as the request asks. */
export function jsonOrEvents(schema: v.GenericSchema): object {
  return {
    description: 'Success',
    content: {
      'application/json': { schema: jsonSchemaOf(schema, 'output') },
      ...EVENT_STREAM,
    },
  };
}

/** The content of server-sent events. */
export const EVENT_STREAM = { 'text/event-stream': { schema: { type: 'string' } } } as const;

function responseOf(declared: unknown): JsonSchema {
  const schema = jsonSchemaOf(declared, 'output');
  return { description: 'Success', ...schema };
}

/** Sends a JSON document, whose bytes all responses share, or 304 if the client has it. */
type SendDocument = (request: FastifyRequest, reply: FastifyReply) => FastifyReply;

function documentSender(text: string): SendDocument {
  const bytes = Buffer.from(text);
  const tag = `"${createHash('sha256').update(bytes).digest('base64url')}"`;
  return ({ headers }, reply) => {
    reply.headers({ etag: tag, 'cache-control': 'no-cache' });
    if (matchesTag(headers['if-none-match'], tag)) return reply.code(304).send();
    return reply.type('application/json; charset=utf-8').send(bytes);
  };
}

/** Serves `/openapi.json`. */
export function documentRoute(
  server: FastifyInstance,
  document: () => Promise<SendDocument>,
): void {
  addEndpoint(server, {
    path: 'GET /openapi.json',
    tag: 'Operation',
    summary: 'This document',
    isPublic: true,
    answer: { type: 'object', description: 'OpenAPI 3.1', additionalProperties: true },
    handler: async (request, reply) => (await document())(request, reply),
  });
}

/** A file in a form. */
export const BINARY = { type: 'string', format: 'binary' } as const;

/** The schema of a form. @param files by field; `required` are those that every form has */
export function formSchemaOf(
  schema: v.GenericSchema,
  files: Readonly<Record<string, object>>,
  {
    sample,
    required,
  }: { readonly sample: Readonly<Record<string, unknown>>; readonly required: readonly string[] },
) {
  const fields = jsonSchemaOf(schema, 'input') as {
    properties: Record<string, object>;
    required: readonly string[];
  };
  return {
    type: 'object',
    properties: { ...files, ...withSample(fields.properties, sample) },
    required: [...required, ...fields.required],
  };
}
