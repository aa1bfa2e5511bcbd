import type { FastifyInstance } from 'fastify';
import * as v from 'valibot';
import type { AdminCommand } from '../../administration/admin-command.ts';
import { runAdminCommand } from '../../administration/admin-command.ts';
import { ADMIN_COMMANDS } from '../../administration/registry.ts';
import { allNames } from '../../config/catalog/model-names.ts';
import { Failure } from '../../failure.ts';
import { fieldsOf, type ObjectSchema, parseFields } from '../../schema/fields.ts';
import { isObject } from '../../schema/untrusted.ts';
import { jsonSchemaOf } from '../openapi/openapi.ts';
import type { AppContext } from '../request/app-context.ts';
import { keyActor } from '../request/auth.ts';

/** The response: the result of the command with its names in snake_case, and warnings. */
function responseOf({ result }: AdminCommand): object {
  return {
    type: 'object',
    properties: {
      result: snakeCasedSchema(jsonSchemaOf(result!, 'output')),
      warnings: { type: 'array', items: { type: 'string' } },
    },
    required: ['result', 'warnings'],
  };
}

/** Options with the names of their fields in requests. */
function schemaOf({ options, sample }: AdminCommand, isRead: boolean): ObjectSchema {
  const entries = Object.entries(options.entries).map(([name, entry]) => {
    const example = isRead ? sample?.[name] : undefined;
    const schema = entry as v.GenericSchema;
    return [
      snakeCase(name),
      example === undefined ? schema : v.pipe(schema, v.examples([example])),
    ];
  });
  const schema = v.strictObject(Object.fromEntries(entries) as v.ObjectEntries);
  if (sample === undefined || isRead) return schema;
  return v.pipe(schema, v.examples([snakeCased(sample) as Record<string, unknown>]));
}

/** JSON has numbers and lists where the command line has texts. */
function textOf(value: unknown): unknown {
  if (typeof value === 'number') return String(value);
  const isList = Array.isArray(value) && value.every((item) => typeof item === 'string');
  return isList ? value.join(',') : value;
}

/** @throws Failure */
export function requireObject(body: unknown): Record<string, unknown> {
  if (isObject(body)) return body;
  throw new Failure('invalid_request', 'the body: expected a JSON object');
}

/** @throws Failure that names the field at fault */
function parseBody(schema: ObjectSchema, body: unknown): Record<string, unknown> {
  const values = { ...requireObject(body) };
  for (const { name, kind } of fieldsOf(schema)) {
    if (kind === 'string' && Object.hasOwn(values, name)) values[name] = textOf(values[name]);
  }
  return parseFields(schema, values) as Record<string, unknown>;
}

/**
 * The administration commands: `oriel keys create` is `POST /v1/admin/keys/create`. Commands that change and
 * show nothing secret are GET. The report of usage has an endpoint of its own.
 */
export function commandRoutes(server: FastifyInstance, context: AppContext): void {
  const { store, audit, catalog } = context;
  for (const command of ADMIN_COMMANDS) {
    // It has an endpoint of its own.
    if (command.result === undefined) continue;
    const isRead = command.audit === undefined;
    const schema = schemaOf(command, isRead);
    const fields = fieldsOf(command.options).map(({ name }) => name);
    server.route({
      method: isRead ? 'GET' : 'POST',
      url: `/v1/admin/${command.group}${command.isTopLevel ? '' : `/${command.name}`}`,
      schema: {
        summary: `${command.summary}; for keys of the account owner`,
        tags: ['Administration'],
        ...(isRead ? { querystring: schema } : { body: schema }),
        response: { 200: () => responseOf(command) },
      },
      handler: async (request, reply) => {
        const { query, body } = request;
        const given = isRead ? (query as Record<string, unknown>) : parseBody(schema, body);
        const options = Object.fromEntries(fields.map((name) => [name, given[snakeCase(name)]]));
        const result = await runAdminCommand(command, options as never, {
          store,
          audit: async () => audit,
          catalog,
          who: keyActor(request),
        });
        // The result may have a key or the secret of callbacks.
        reply.header('cache-control', 'no-store');
        const warnings = command.warn?.(options, allNames(context.config.models)) ?? [];
        return { result: snakeCased(result), warnings };
      },
    });
  }
}

/** A property's name as responses under `/v1` have it: `createdAt` is `created_at`. */
function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

type SnakeCase<Name> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name;

/** The result of a command as the response has it. */
export type SnakeCased<Value> = Value extends readonly (infer Item)[]
  ? readonly SnakeCased<Item>[]
  : Value extends object
    ? { readonly [Name in keyof Value as SnakeCase<Name>]: SnakeCased<Value[Name]> }
    : Value;

/** A copy of plain JSON in which the properties of all records have such names. */
function snakeCased(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(snakeCased);
  return isObject(value) ? renamed(value, snakeCased) : value;
}

function renamed(members: object, convert: (value: unknown) => unknown): object {
  const entries = Object.entries(members);
  return Object.fromEntries(entries.map(([name, one]) => [snakeCase(name), convert(one)]));
}

/** A JSON Schema of plain JSON, for the copy with such names. */
function snakeCasedSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(snakeCasedSchema);
  if (!isObject(schema)) return schema;
  const members = Object.entries(schema).map(([keyword, value]) => {
    if (keyword === 'required') return [keyword, (value as string[]).map(snakeCase)];
    if (keyword === 'properties') return [keyword, renamed(value as object, snakeCasedSchema)];
    return [keyword, snakeCasedSchema(value)];
  });
  return Object.fromEntries(members);
}
