import { wrk } from '../daemon/trial.ts';
import { suiteOf, versionsOf } from '../trial.ts';
import { crowd } from './crowd.ts';
import { failover } from './failover.ts';
import { type Case, withPostgres } from './field.ts';
import { open } from './open.ts';
import { postgres } from './postgres.ts';
import { processes } from './processes.ts';
import { claims, create, wake } from './store.ts';
import { scale, text } from './text.ts';

const cases: Record<string, Case> = {
  create,
  text,
  claims,
  wake,
  scale,
  processes,
  open,
  failover,
  crowd,
};

/** Several daemons over PostgreSQL, beside one with its own files and beside bare transactions. */
export const nodes = suiteOf(
  'nodes',
  'daemons over PostgreSQL, beside bare transactions, and beside the store in files',
  Object.fromEntries(Object.entries(cases).map(([id, one]) => [id, withPostgres(one)])),
  () => versionsOf({ wrk: [wrk, '--version'], PostgreSQL: [postgres, '--version'] }),
);
