import { runCases, type Trial } from '../cases.ts';
import { Corpus } from '../images/corpus.ts';
import { programVersion } from '../peers.ts';
import type { Report, Settings, Suite } from '../suite.ts';
import { batch } from './batch.ts';
import { batchMemory } from './batch-memory.ts';
import { fairness } from './fairness.ts';
import { lookup } from './lookup.ts';
import { ready } from './ready.ts';
import { type Bench, curl, wrk } from './trial.ts';
import { zip } from './zip.ts';

const cases: Record<string, (bench: Bench) => Promise<Trial>> = {
  ready,
  lookup,
  batch,
  'batch-memory': batchMemory,
  zip,
  fairness,
};

/** The daemon over real sockets, compared with the command line and with minimal servers. */
export const daemon: Suite = {
  summary: 'the daemon over HTTP, against the command line and a route that does nothing',
  cases: Object.keys(cases),
  run,
};

async function run(settings: Settings, log: (line: string) => void): Promise<Report> {
  const corpus = new Corpus(settings.scratch, log);
  const own = Object.entries(cases).map(([id, work]) => [
    id,
    (bench: Omit<Bench, 'corpus'>) => work({ ...bench, corpus }),
  ]);
  return {
    versions: {
      wrk: programVersion(wrk, ['--version']),
      curl: programVersion(curl, ['--version']),
    },
    ...(await runCases('daemon', Object.fromEntries(own), settings, log)),
  };
}
