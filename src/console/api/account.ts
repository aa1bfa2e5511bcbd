import type { AccountAnswer } from '../../http/routes/account.ts';
import { sendJson } from './request.ts';
import { type Resource, useResource } from './resource.ts';

export type SessionKey = AccountAnswer['key'];

/** The account of the session, with its credits. */
export function useAccount(inputs: readonly unknown[] = []): Resource<AccountAnswer> {
  return useResource((signal) => sendJson<AccountAnswer>('v1/account', { signal }), inputs);
}
