import { Failure } from '../failure.ts';

const NOT_FOUND = {
  account: 'account_not_found',
  key: 'key_not_found',
  team: 'team_not_found',
  task: 'task_not_found',
  asset: 'asset_not_found',
  delivery: 'delivery_not_found',
  provider: 'provider_not_found',
  model: 'model_not_found',
} as const;

/** A record that a method names does not exist. */
export function notFound(kind: keyof typeof NOT_FOUND, id: string): Failure {
  return new Failure('invalid_request', `there is no ${kind} ${JSON.stringify(id)}`, {
    code: NOT_FOUND[kind],
  });
}

/** The element after which a part of a list is to begin does not exist. */
export function unknownCursor(kind: keyof typeof NOT_FOUND, id: string): Failure {
  return new Failure('invalid_request', `after: there is no ${kind} ${JSON.stringify(id)}`, {
    code: NOT_FOUND[kind],
    param: 'after',
  });
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
export function assetExists(id: string): Failure {
  return conflict(`there is already an asset ${id}`, 'asset_exists');
}

/** Status 409: the state of a record does not allow the change. */
export function conflict(
  message: string,
  code:
    | 'account_exists'
    | 'key_exists'
    | 'key_revoked'
    | 'team_exists'
    | 'team_has_keys'
    | 'provider_exists'
    | 'model_exists'
    | 'provider_in_use'
    | 'asset_exists'
    | 'task_state'
    | 'claim_lost'
    | 'delivery_state'
    | 'idempotency_conflict'
    | 'store_not_empty'
    | 'file_in_use'
    | 'batch_ended'
    | 'batch_running',
): Failure {
  return new Failure('invalid_request', message, { code });
}

/** Status 409: a store cannot be copied into one that has records. */
export function notEmpty(): Failure {
  return conflict('the store to copy to has records: expected an empty one', 'store_not_empty');
}
