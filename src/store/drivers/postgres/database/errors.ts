import { codedFailure, Failure } from '../../../../failure.ts';
import { accountExists, assetExists, keyExists, teamExists } from '../../../errors.ts';

/** Seconds in `Retry-After` while the database is away. */
const RETRY_AFTER = 2;

/**
 * Classes and codes of SQLSTATE after which the same transaction may succeed: connections, resources, a server
 * that starts or stops, a standby, deadlocks, timeouts, named statements that a pooler does not keep.
 */
const AWAY_STATES =
  /^(?:08|53|57P0[1-5]|57014|25006|25P0[34]|26000|40001|40P01|42P05|55P03|XX000$|58)/;

/** Messages of `pg` about a connection that is lost, or a pool without a free one. */
const AWAY_MESSAGES =
  /^(?:Connection terminated|timeout exceeded when trying to connect|timeout expired$|Query read timeout|Client has encountered a connection error|Client was closed)/;

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
    : /^E(?!RR_TLS_CERT|ACCES$)[A-Z_]+$/.test(code);
}

/** Whether a connection does not have the named statements that were prepared on it, or has them already. */
export function isUnprepared(error: unknown): boolean {
  return error instanceof Error && /^(?:26000|42P05)$/.test((error as DatabaseError).code ?? '');
}

const REASONS: Readonly<Record<string, string>> = {
  '25006': 'it is read-only',
  '53100': 'its disk is full',
  '53300': 'it accepts no more connections',
  '57P01': 'it shuts down',
  '57P03': 'it starts or shuts down',
};

/** The database did not take a call in time. The message names no host: clients read it. */
export function unavailable(cause: unknown): Failure {
  if (cause instanceof Failure) return cause;
  const { code } = cause as DatabaseError;
  const words = code !== undefined && REASONS[code];
  const reason = code === undefined ? 'it does not answer' : words ? `${words} (${code})` : code;
  return codedFailure('store_unavailable', `the database cannot be used now: ${reason}`, {
    retryAfter: RETRY_AFTER,
    cause,
  });
}

/** Codes of TLS about certificates that are not trusted. */
const UNTRUSTED = /CERT|SIGNATURE/;

/** A database that cannot be opened, in words for the operator: clients never read this message. */
export function notOpened(error: unknown, url: string): unknown {
  if (error instanceof Failure && error.code !== 'store_unavailable') return error;
  const cause = error instanceof Failure ? error.cause : error;
  // Errors of the file system have a path, those of a connection have none.
  if (!(cause instanceof Error) || 'path' in cause) return error;
  const { code = '', message: words } = cause as DatabaseError;
  const reason = words.includes(code) ? words : `${words} (${code})`.trim();
  const hint = UNTRUSTED.test(code)
    ? '; append sslrootcert=FILE with its authority to the URL'
    : '';
  const message = `the database at ${new URL(url).host} cannot be used: ${reason}${hint}`;
  return codedFailure('store_unavailable', message, { cause });
}

/** The failure for a unique index that a transaction would violate, by the name of the index. */
const VIOLATIONS: Readonly<Record<string, () => Failure>> = {
  ...{ accounts_name: accountExists, keys_hash: keyExists, teams_name: teamExists },
  assets_pkey: assetExists,
};

/** The failure of one operation, for an error of the database that repeating it does not change. */
export function failureOf(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof Failure) return error;
  const { constraint, code } = error as DatabaseError;
  const violation = constraint === undefined ? undefined : VIOLATIONS[constraint];
  if (violation) return violation();
  if (code === undefined) return error;
  return codedFailure('store_unavailable', `the database refused a statement: ${code}`, {
    cause: error,
  });
}
