import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance } from 'fastify';
import * as v from 'valibot';
import { publishModel, publishModels } from '../../../config/catalog/catalog.ts';
import { modelShape } from '../../../config/catalog/published-model.ts';
import { codedFailure } from '../../../failure.ts';
import { field, withDefault } from '../../../schema/fields.ts';
import { invalid } from '../../../schema/invalid.ts';
import { WILDCARD } from '../../../schema/pattern.ts';
import type { KeyHolder } from '../../../store/store.ts';
import type { ModelListing, ModelPage } from '../../../text/dialects/endpoint.ts';
import { allDialects } from '../../../text/dialects/registry.ts';
import type { AppContext } from '../../request/app-context.ts';
import { addEndpoint } from '../../request/endpoint.ts';
import { listShape, parseQuery } from '../../request/query.ts';

/** The catalog: the models that the API key may use. */
export function modelRoutes(server: FastifyInstance, context: AppContext): void {
  addEndpoint(server, {
    path: 'GET /v1/models',
    tag: 'Models',
    summary: 'The models that the key may use, with prices, limits and reasoning efforts',
    query: v.looseObject({
      return_wildcard_routes: withDefault(v.boolean(), false, 'also patterns such as claude-*'),
    }),
    answer: listShape(modelShape),
    handler: async ({ headers, query, holder }, reply) => {
      const listing = listingFor(headers);
      const { return_wildcard_routes: all, ...page } = query;
      if (listing) {
        const asked = parseQuery(listing.query, page);
        return reply.send(listModels(context, listing, holder, asked, all));
      }
      const { object, data } = publishModels(context.config, holder.key.models);
      return { object, data: all ? data : data.filter(isNamed) };
    },
  });

  // A wildcard, since model ids may have slashes.
  addEndpoint(server, {
    path: 'GET /v1/models/*',
    tag: 'Models',
    summary: 'One model',
    params: v.object({ id: field(v.string(), 'the id of the model') }),
    answer: modelShape,
    handler: async ({ headers, holder, params: { '*': id } }, reply) => {
      const listing = listingFor(headers);
      if (listing) return reply.send(modelEntry(context, listing, holder, id));
      return publishModel(context.config, id, holder.key.models);
    },
  });

  for (const { label, modelListing } of allDialects()) {
    const path = modelListing?.path;
    if (path) listingRoutes(server, context, label, path, modelListing);
  }
}

/** Whether a model has a name that clients can offer, rather than a pattern. */
const isNamed = ({ id }: { readonly id: string }) => !id.includes(WILDCARD);

/** Models of a page whose size the client leaves open, and the most of one. */
const PAGE = { usual: 50, most: 1000 } as const;

/** The catalog in the shape of a dialect. */
function listingRoutes(
  server: FastifyInstance,
  context: AppContext,
  label: string,
  path: string,
  listing: ModelListing,
): void {
  const { query: schema, entry, list } = listing;
  addEndpoint(server, {
    path: `GET ${path}`,
    tag: 'Models',
    summary: `The models that the key may use, in the format of ${label}`,
    query: schema,
    answer: list,
    handler: async ({ holder, query }) => listModels(context, listing, holder, query),
  });

  addEndpoint(server, {
    path: `GET ${path}/*`,
    tag: 'Models',
    summary: `One model, in the format of ${label}`,
    params: v.object({ id: field(v.string(), 'the id of the model') }),
    answer: entry,
    handler: async ({ holder, params }) => modelEntry(context, listing, holder, params['*']),
  });
}

/** The listing of the client's format, for paths that several formats share. */
function listingFor(headers: IncomingHttpHeaders): ModelListing | undefined {
  const listings = allDialects().map(({ modelListing }) => modelListing);
  return listings.find((listing) => listing && headers[listing.header] !== undefined);
}

function listModels(
  { config }: AppContext,
  { types, entryOf, listOf }: ModelListing,
  { key }: KeyHolder,
  { pageSize, limit = pageSize, pageToken = '', after_id: after }: ModelPage,
  all = false,
) {
  const { data } = publishModels(config, key.models);
  const models = data.filter((one) => types.includes(one.type) && (all || isNamed(one)));
  const given = after ?? pageToken;
  const at = models.findIndex(({ id }) => id === given);
  if (given !== '' && at === -1) {
    const isGemini = after === undefined;
    const last = isGemini ? 'nextPageToken' : 'last_id';
    const message = `expected the ${last} of a page of this list`;
    throw invalid(isGemini ? 'pageToken' : 'after_id', message);
  }
  const first = after === undefined ? Math.max(0, at) : at + 1;
  const end = first + Math.min(limit || PAGE.usual, PAGE.most);
  return listOf(models.slice(first, end).map(entryOf), models[end]?.id ?? null);
}

function modelEntry(
  { config }: AppContext,
  { types, entryOf }: ModelListing,
  { key }: KeyHolder,
  id: string,
) {
  const model = publishModel(config, id, key.models);
  if (types.includes(model.type)) return entryOf(model);
  const message = `${id} is a model of type ${model.type}, not of ${types.join(' or ')}`;
  throw codedFailure('wrong_model_type', message, { param: 'model' });
}
