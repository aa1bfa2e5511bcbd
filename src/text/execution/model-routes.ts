import type { TextModel } from '../../config/catalog.ts';
import { dialectFor, isRemote } from '../../config/provider-kinds.ts';
import type { Config } from '../../config/schema.ts';
import type { DialectName, TextRequest } from '../canonical/canonical.ts';
import { upstreamDialectOf } from '../dialects/registry.ts';
import { canPass } from './pass-through.ts';

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
