import { ACCOUNT_VERBS } from './accounts.ts';
import { KEY_VERBS } from './keys.ts';
import type { Verb } from './verb.ts';

/** All of administration. Commands and the endpoints of the local admin API derive from this list. */
export const VERBS = [...ACCOUNT_VERBS, ...KEY_VERBS] as unknown as readonly Verb[];
