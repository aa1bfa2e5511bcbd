import type { Dialect, UpstreamSide } from './dialect.ts';

/**
 * The members of a dialect that clients speak and upstreams do not.
 *
 * @param upstreamDialect the dialect of requests to upstreams that speak all
 */
export function clientOnly(
  name: string,
  upstreamDialect: string,
): UpstreamSide & Pick<Dialect, 'name' | 'upstreamDialect'> {
  const refuse = (): never => {
    throw new Error(`No upstream speaks the dialect ${name}`);
  };
  return {
    name,
    upstreamDialect,
    path: refuse,
    headers: {},
    encodeRequest: refuse,
    forwardBody: refuse,
    decodeEvents: refuse,
    markers: [],
    modelPaths: [],
    finishReasons: refuse,
    countOutput: refuse,
    hasOutput: refuse,
    observe: refuse,
    observeAnswer: refuse,
  };
}
