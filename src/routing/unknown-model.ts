import { Failure } from '../failure.ts';

/** The error for a name that matches a wildcard and that no provider knows: the client chose it. */
export function unknownToProvider(error: unknown, id: string, name: string): unknown {
  if (!(error instanceof Failure) || error.code !== 'upstream_not_found') return error;
  const message = `no provider of ${id} has a model ${JSON.stringify(name)}`;
  return new Failure('invalid_request', message, { param: 'model', code: 'model_not_found' });
}
