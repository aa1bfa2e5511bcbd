import { Failure } from '../../failure.ts';
import { assetExists, conflict } from '../errors.ts';

/** Seconds in `Retry-After` while the database is away. */
const RETRY_AFTER = 2;

/**
 * Classes and codes of SQLSTATE after which the same transaction may succeed: connections, resources, a server
 * that starts or stops, a standby, deadlocks, timeouts.
 */
const AWAY_STATES = /^(?:08|53|57P0[1-5]|57014|25006|25P0[34]|40001|40P01|55P03|XX000$|58)/;

/** Messages of `pg` about a connection that is lost, or a pool without a free one. */
const AWAY_MESSAGES =
  /^(?:Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error|Client was closed)/;

interface DatabaseError extends Error {
  /** SQLSTATE, or the code of a system error. */
  readonly code?: string;
  readonly constraint?: string;
  readonly errors?: readonly Error[];
}

/** Whether the database did not answer, or refused for a reason that passes. */
export function isAway(error: unknown): boolean {
  if (error instanceof Failure || !(error instanceof Error)) return false;
  const { code, message, errors } = error as DatabaseError;
  if (errors?.some(isAway)) return true;
  if (code === undefined) return AWAY_MESSAGES.test(message);
  return /^[0-9A-Z]{5}$/.test(code) && !/^E[A-Z]{4}$/.test(code)
    ? AWAY_STATES.test(code)
    : /^E[A-Z_]+$/.test(code) && code !== 'EACCES';
}

/** The database did not take a call in time. The message names no host: clients read it. */
export function unavailable(cause: unknown): Failure {
  if (cause instanceof Failure) return cause;
  const { code } = cause as DatabaseError;
  const reason = code === undefined ? 'it does not answer' : code;
  return new Failure('service_error', `the database cannot be used now: ${reason}`, {
    code: 'store_unavailable',
    retryAfter: RETRY_AFTER,
    cause,
  });
}

/** The failure for a unique index that a transaction would violate, by the name of the index. */
const VIOLATIONS: Readonly<Record<string, () => Failure>> = {
  accounts_name: () => conflict('there is an account with this name already', 'account_exists'),
  keys_hash: () => conflict('this key exists', 'key_exists'),
  teams_name: () => conflict('the account has a team with this name already', 'team_exists'),
  assets_pkey: () => assetExists('with this identifier'),
};

/** The failure of one operation, for an error of the database that repeating it does not change. */
export function failureOf(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof Failure) return error;
  const { constraint, code } = error as DatabaseError;
  const violation = constraint === undefined ? undefined : VIOLATIONS[constraint];
  if (violation) return violation();
  if (code === undefined) return error;
  return new Failure('service_error', `the database refused a statement: ${code}`, {
    code: 'store_unavailable',
    cause: error,
  });
}
