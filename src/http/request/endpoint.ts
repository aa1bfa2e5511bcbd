import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifyServerOptions,
  onRequestAsyncHookHandler,
  RouteOptions,
} from 'fastify';
import type * as v from 'valibot';
import type { ObjectSchema } from '../../schema/fields.ts';
import type { DeepReadonly } from '../../schema/json.ts';
import { jsonLine } from '../responses/errors.ts';
import { parseQuery } from './query.ts';

/** The parameters of a path: `/v1/tasks/:task_id` has `task_id`. */
type ParamsOf<Path extends string> = string extends Path
  ? Readonly<Record<string, string | undefined>>
  : Path extends `${string}:${infer Name}/${infer Rest}`
    ? { [Key in Name]: string } & ParamsOf<`/${Rest}`>
    : Path extends `${string}:${infer Name}`
      ? { [Key in Name]: string }
      : Path extends `${string}*`
        ? { '*': string }
        : unknown;

type OutputOf<Schema> = Schema extends v.GenericSchema ? v.InferOutput<Schema> : unknown;

/** An endpoint, from which the route, the check of its query and the OpenAPI document derive. */
interface Endpoint<Path extends string, Query extends ObjectSchema, Answer> {
  /** Method and path, such as `GET /v1/tasks/:task_id`. */
  readonly path: `${'GET' | 'POST' | 'DELETE'} ${Path}`;
  /** Further paths, which the document leaves out. */
  readonly aliases?: readonly string[];
  /** The endpoint's part of the document. */
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** Whether the endpoint needs no API key. */
  readonly isPublic?: true;
  readonly config?: FastifyContextConfig;
  readonly exposeHeadRoute?: false;
  readonly query?: Query;
  readonly params?: v.GenericSchema;
  /** Schema of a JSON body, which the handler checks. */
  readonly body?: object;
  /** Schema of a multipart form, which the handler reads and checks. */
  readonly form?: object;
  /** Further properties of the endpoint in the document. */
  readonly extensions?: Readonly<Record<`x-${string}`, unknown>>;
  readonly produces?: readonly string[];
  /** Schema of the JSON of status 200, or that response as the document has it. */
  readonly answer?: Answer;
  /** The same of status 202. */
  readonly accepted?: object;
  readonly onRequest?: onRequestAsyncHookHandler;
  /** Returns the answer, its text in JSON, or the reply after sending it. */
  readonly handler: (
    request: FastifyRequest<{ Params: ParamsOf<Path>; Querystring: OutputOf<Query> }>,
    reply: FastifyReply,
  ) => Promise<DeepReadonly<OutputOf<Answer>> | string | FastifyReply>;
}

/** Adds an endpoint to a server and to its document. */
export function addEndpoint<
  Path extends string,
  Query extends ObjectSchema,
  const Answer extends object,
>(server: FastifyInstance, endpoint: Endpoint<Path, Query, Answer>): void {
  const {
    path,
    aliases = [],
    tag,
    isPublic,
    query,
    form,
    body = form,
    answer,
    ...others
  } = endpoint;
  const { accepted, extensions, summary, description, params, produces, ...own } = others;
  const [method, url] = path.split(' ') as ['GET' | 'POST' | 'DELETE', string];
  const route = { method, ...own };
  const schema = {
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    ...(isPublic && { security: [] }),
    ...(form && { consumes: ['multipart/form-data'] }),
    ...(produces && { produces }),
    ...(query && { querystring: query }),
    ...(params && { params }),
    ...(body && { body }),
    ...extensions,
    response: { ...(answer && { 200: answer }), ...(accepted && { 202: accepted }) },
  };
  server.route({ ...route, url, schema } as RouteOptions);
  const hidden = { ...(query && { querystring: query }), hide: true };
  for (const url of aliases) server.route({ ...route, url, schema: hidden } as RouteOptions);
}

interface DeclaredSchema {
  readonly schema: ObjectSchema;
  readonly httpPart?: string;
}

/**
 * How servers check queries and write JSON. Fastify's own compilers would take 85 modules of Ajv: bodies are checked
 * by handlers, and its serializer would drop properties that a response's schema does not declare.
 */
export const SCHEMA_CONTROLLER = {
  compilersFactory: {
    buildValidator: () => checkOf,
    buildSerializer: () => () => jsonLine,
  },
  // The types of Fastify know compilers of Ajv alone.
} as unknown as NonNullable<FastifyServerOptions['schemaController']>;

function checkOf({ schema, httpPart }: DeclaredSchema) {
  return (value: Readonly<Record<string, unknown>>) => {
    try {
      return { value: httpPart === 'querystring' ? parseQuery(schema, value) : value };
    } catch (error) {
      // Fastify adds properties to a validation error, which must not change the Failure.
      return { error: new Error('invalid', { cause: error }) };
    }
  };
}
