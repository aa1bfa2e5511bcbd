import { Failure } from '../failure.ts';

/** What a verb names is not there. */
export function notFound(
  kind: 'account' | 'key' | 'task' | 'asset' | 'delivery',
  id: string,
): Failure {
  return new Failure('invalid_request', `there is no ${kind} ${JSON.stringify(id)}`, {
    status: 404,
    code: `${kind}_not_found`,
  });
}

/** Names of assets are given once. */
export function assetExists(id: string): Failure {
  return conflict(`there is an asset ${id} already`, 'asset_exists');
}

/** What is there does not allow it. */
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
