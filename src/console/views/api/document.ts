import { sendJson } from '../../api/request.ts';
import type { Schema, ShownField } from './schema.ts';

/** The parts of OpenAPI 3.1 that the page shows. */
interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly description?: string;
  readonly example?: unknown;
  readonly schema: Schema;
}

export interface Content {
  readonly schema: Schema;
  readonly example?: unknown;
}

interface Operation {
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  /** Empty for an endpoint that needs no key. */
  readonly security?: readonly object[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<
    Record<
      string,
      { readonly description: string; readonly content?: Readonly<Record<string, Content>> }
    >
  >;
}

/** An endpoint: one method of one path. */
export interface Endpoint extends Operation {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** Last part of its address in the console: `post/v1/chat/completions`. */
  readonly place: string;
}

/** Groups in their order, with the tags of OpenAPI that they hold. */
const GROUPS: readonly (readonly [title: string, tags: readonly string[]])[] = [
  ['Images', ['Batch images']],
  ['Text', ['Text', 'Models']],
  ['Media', ['Images', 'Videos', 'Audio', 'Moderation', 'Tasks', 'Assets']],
  ['Account', ['Account']],
];

/** Title of the group of all other tags. */
const REST = 'Server';

/** Endpoints by the titles of their groups. */
export type EndpointGroups = Awaited<ReturnType<typeof loadGroups>>;

/** Loads the OpenAPI document. @throws ApiError, 404 where it is on the listener for operations */
export async function loadGroups(signal: AbortSignal) {
  const { paths } = await sendJson<OpenApi>('openapi.json', { signal });
  const endpoints = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, operation]): Endpoint => ({
        ...operation,
        path,
        method: method.toUpperCase() as Endpoint['method'],
        place: `${method}${path}`,
      }),
    ),
  );
  const groupOf = ({ tags }: Endpoint) =>
    GROUPS.find(([, known]) => known.includes(tags[0]!))?.[0] ?? REST;
  const order = GROUPS.flatMap(([, tags]) => tags);
  const sorted = endpoints.toSorted(
    (one, other) => order.indexOf(one.tags[0]!) - order.indexOf(other.tags[0]!),
  );
  return [...GROUPS.map(([title]) => title), REST].map((title) => ({
    title,
    endpoints: sorted.filter((endpoint) => groupOf(endpoint) === title),
  }));
}

/** The body of an endpoint; undefined if it takes none. */
export function bodyOf({ requestBody }: Endpoint) {
  const [type, content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  return content && { isForm: type === 'multipart/form-data', content };
}

/** The parameters of an endpoint as fields. */
export function parametersOf({ parameters = [] }: Endpoint): readonly ShownField[] {
  return parameters.map(({ name, schema, required = false, description = '' }) => ({
    ...{ name, schema, isRequired: required, description },
  }));
}
