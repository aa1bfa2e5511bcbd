import {
  findModel,
  maxOutputTokensOf,
  reasoningOf,
  type TextModel,
  type TextRoute,
} from '../../config/catalog/catalog.ts';
import { type NamedEntry, upstreamModelOf } from '../../config/catalog/model-names.ts';
import { dialectFor, isRemote, type Provider } from '../../config/providers/provider-kinds.ts';
import type { Config, Model } from '../../config/settings/schema.ts';
import { Failure } from '../../failure.ts';
import { invalid } from '../../schema/invalid.ts';
import type { KeyHolder } from '../../store/store.ts';
import type { DialectName, Json, TextRequest } from '../canonical/canonical.ts';
import type { Target } from '../dialects/dialect.ts';
import { dialectNamed, upstreamDialectOf } from '../dialects/registry.ts';
import { canPass } from './pass-through.ts';

/**
 * The model of a type that a client names.
 *
 * @throws Failure auth_error where its key may not use the model; invalid_request where there is none of that type
 */
export function findModelOfType<Type extends Model['type']>(
  type: Type,
  name: string,
  config: Config,
  { key }: KeyHolder,
): NamedEntry & { readonly model: Extract<Model, { readonly type: Type }> } {
  const { id, part, model } = findModel(config, name, key.models);
  if (model.type !== type) {
    const message = `${name} is a model of type ${model.type}, not of ${type}`;
    throw invalid('model', message, 'wrong_model_type');
  }
  return { id, part, model: model as Extract<Model, { readonly type: Type }> };
}

/** What a route of a text model asks for of a provider. */
export function targetOf(
  route: TextRoute,
  provider: Provider,
  client: DialectName,
  model: TextModel,
  wildcardPart: string | null,
): Target {
  return {
    dialect: dialectFor(route, provider, upstreamDialectOf(client)),
    provider: route.provider,
    model: upstreamModelOf(route, wildcardPart),
    rules: model.rules ?? null,
    reasons: reasoningOf(model).supported_efforts.length > 0,
    maxOutputTokens: maxOutputTokensOf(model),
  };
}

/** Whether a request may leave this server. */
export function mayLeaveServer({ routes }: TextModel, { providers }: Config): boolean {
  return routes.some(({ provider }) => isRemote(providers[provider]!));
}

/** Whether a provider of a model speaks the client's dialect, and can be sent fields that this version does not know. */
export function hasRouteOf(
  client: DialectName,
  { routes }: TextModel,
  { providers }: Config,
): boolean {
  const dialect = upstreamDialectOf(client);
  return routes.some((route) => dialectFor(route, providers[route.provider]!, dialect) === dialect);
}

/** Whether every provider of a model serves several clients from one account. */
export function isShared({ routes }: TextModel, { providers }: Config): boolean {
  return routes.every(({ provider: name }) => {
    const provider = providers[name]!;
    return !isRemote(provider) || provider.shared !== false;
  });
}

/** Requests to a provider that answer one: for a route that the body is not passed to, one for each of the `n` answers. */
export function upstreamRequestsFor(
  request: TextRequest,
  model: TextModel,
  { providers }: Config,
): number {
  const { n } = request;
  if (n === null || n === 1) return 1;
  const isPassed = model.routes.every((route) => {
    const provider = providers[route.provider]!;
    const dialect = dialectFor(route, provider, upstreamDialectOf(request.dialect));
    return isRemote(provider) && canPass(request, { dialect });
  });
  return isPassed ? 1 : n;
}

/** Models whose provider has no compaction of its own. */
const WITHOUT_COMPACTION = new WeakSet<TextModel>();

/** The model of a conversation that the provider itself is to compact: it alone can read the result. Null for none. */
export function compactingModel(body: Json, config: Config, holder: KeyHolder): TextModel | null {
  const request = dialectNamed('responses').decodeRequest(body);
  const { model } = findModelOfType('text', request.model, config, holder);
  const isOnly = model.routes.length === 1 && mayLeaveServer(model, config);
  const isSpoken = isOnly && hasRouteOf('responses', model, config);
  const isPassed = isSpoken && canPass(request, { dialect: 'responses' });
  return isPassed && !WITHOUT_COMPACTION.has(model) ? model : null;
}

/** Whether an error of a provider says that a model has no compaction of its own, so that a summary takes its place. */
export function cannotCompact(model: TextModel, error: unknown): boolean {
  const code = error instanceof Failure && error.code;
  if (code === 'upstream_not_found') WITHOUT_COMPACTION.add(model);
  // A name that fits a wildcard may be unknown.
  return code === 'upstream_not_found' || code === 'model_not_found';
}
