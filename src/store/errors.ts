import { Failure } from '../failure.ts';

/** Status 404: a record that a method names does not exist. */
export function notFound(
  kind: 'account' | 'key' | 'task' | 'asset' | 'delivery',
  id: string,
): Failure {
  return new Failure('invalid_request', `there is no ${kind} ${JSON.stringify(id)}`, {
    status: 404,
    code: `${kind}_not_found`,
  });
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
    | 'asset_exists'
    | 'task_state'
    | 'delivery_state'
    | 'idempotency_conflict',
): Failure {
  return new Failure('invalid_request', message, { status: 409, code });
}
