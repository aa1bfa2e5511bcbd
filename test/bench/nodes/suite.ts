import { runCases } from '../cases.ts';
import { wrk } from '../daemon/trial.ts';
import { nginx } from '../gateway/nginx.ts';
import { programVersion } from '../peers.ts';
import type { Report, Settings, Suite } from '../suite.ts';
import { FAILOVER, failover } from './failover.ts';
import { type Case, withPostgres } from './field.ts';
import { OPEN, open } from './open.ts';
import { postgres } from './postgres.ts';
import { CLAIMS, CREATE, claims, create, WAKE, wake } from './store.ts';
import { SCALE, scale, TEXT, text } from './text.ts';

const all: Record<string, Case> = {
  create: { ...CREATE, work: create },
  text: { ...TEXT, work: text, program: nginx },
  claims: { ...CLAIMS, work: claims },
  wake: { ...WAKE, work: wake },
  scale: { ...SCALE, work: scale, program: nginx },
  open: { ...OPEN, work: open },
  failover: { ...FAILOVER, work: failover, program: nginx },
};

const cases = Object.fromEntries(
  Object.entries(all).map(([id, one]) => [id, withPostgres(id, one)]),
);

/** Several daemons over PostgreSQL, beside one with its own files and beside bare transactions. */
export const nodes: Suite = {
  summary: 'daemons over PostgreSQL, beside bare transactions, and beside the store in files',
  cases: Object.keys(cases),
  run,
};

async function run(settings: Settings, log: (line: string) => void): Promise<Report> {
  return {
    versions: {
      wrk: programVersion(wrk, ['--version']),
      PostgreSQL: programVersion(postgres, ['--version']),
    },
    ...(await runCases('nodes', cases, settings, log)),
  };
}
