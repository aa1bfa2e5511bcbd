import { type CodeOf, codedFailure, Failure } from '../failure.ts';

type Named = 'account' | 'key' | 'team' | 'task' | 'asset' | 'delivery' | 'provider' | 'model';

/** A record that a method names does not exist. */
export function notFound(kind: Named, id: string): Failure {
  const message = `there is no ${kind} ${JSON.stringify(id)}`;
  return new Failure('invalid_request', message, { code: `${kind}_not_found` });
}

/** The element after which a part of a list is to begin does not exist. */
export function unknownCursor(kind: Named, id: string): Failure {
  const message = `after: there is no ${kind} ${JSON.stringify(id)}`;
  return new Failure('invalid_request', message, { code: `${kind}_not_found`, param: 'after' });
}

const named = (name: string | undefined) =>
  name === undefined ? 'with this name' : JSON.stringify(name);

export function accountExists(name?: string): Failure {
  return conflict(`there is an account ${named(name)} already`, 'account_exists');
}

export function teamExists(name?: string): Failure {
  return conflict(`the account has a team ${named(name)} already`, 'team_exists');
}

export function keyExists(): Failure {
  return conflict('this key exists', 'key_exists');
}

/** Status 409: an asset with this identifier exists. */
export function assetExists(id = 'with this identifier'): Failure {
  return conflict(`there is already an asset ${id}`, 'asset_exists');
}

/** Status 409: the state of a record does not allow the change. */
export function conflict(message: string, code: CodeOf<'invalid_request'>): Failure {
  return new Failure('invalid_request', message, { code });
}

/** Status 409: a store cannot be copied into one that has records. */
export function notEmpty(): Failure {
  return conflict('the store to copy to has records: expected an empty one', 'store_not_empty');
}

/** A call after the store was closed. */
export function closed(): Failure {
  return codedFailure('store_unavailable', 'the store is closed');
}
