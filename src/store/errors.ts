import { Failure } from '../failure.ts';

const NOT_FOUND = {
  account: 'account_not_found',
  key: 'key_not_found',
  task: 'task_not_found',
  asset: 'asset_not_found',
  delivery: 'delivery_not_found',
} as const;

/** A record does not exist. */
export function notFound(kind: keyof typeof NOT_FOUND, id: string): Failure {
  return new Failure('invalid_request', `there is no ${kind} ${JSON.stringify(id)}`, {
    code: NOT_FOUND[kind],
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
  return new Failure('invalid_request', message, { code });
}
