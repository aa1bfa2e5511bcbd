import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Corpus } from '../images/corpus.ts';
import { Interruption } from '../measure.ts';
import { programVersion } from '../peers.ts';
import { chosenCases, type Report, type Settings, type Suite } from '../suite.ts';
import { batch } from './batch.ts';
import { batchMemory } from './batch-memory.ts';
import { fairness } from './fairness.ts';
import { lookup } from './lookup.ts';
import { ready } from './ready.ts';
import { type Bench, curl, type Trial, wrk } from './trial.ts';
import { zip } from './zip.ts';

const cases: Record<string, (bench: Bench) => Promise<Trial>> = {
  ready,
  lookup,
  batch,
  'batch-memory': batchMemory,
  zip,
  fairness,
};

/** The daemon over real sockets, against the command line and against minimal servers. */
export const daemon: Suite = {
  summary: 'the daemon over HTTP, against the command line and a route that does nothing',
  cases: Object.keys(cases),
  run,
};

async function run(settings: Settings, log: (line: string) => void): Promise<Report> {
  const corpus = new Corpus(settings.scratch, log);
  const trials = new Map<string, Trial>();
  const faults: string[] = [];
  const runs = join(settings.scratch, `runs-${process.pid}`);
  try {
    for (const id of chosenCases(daemon.cases, settings.only)) {
      log(id);
      const folder = join(runs, id);
      mkdirSync(folder, { recursive: true });
      try {
        trials.set(id, await cases[id]!({ settings, corpus, folder, log }));
      } catch (error) {
        // The other cases go on; that this one is missing is told.
        if (error instanceof Interruption) throw error;
        faults.push(`${id}: ${error instanceof Error ? error.message : String(error)}`);
        log(`  ${faults.at(-1)}`);
      }
    }
  } finally {
    rmSync(runs, { recursive: true, force: true });
  }
  const all = [...trials.values()];
  return {
    versions: {
      wrk: programVersion(wrk, ['--version']),
      curl: programVersion(curl, ['--version']),
    },
    sections: all.map(({ section }) => section),
    goals: all.flatMap(({ goals }) => goals),
    faults: [...faults, ...all.flatMap((trial) => trial.faults)],
    raw: Object.fromEntries([...trials].map(([id, { raw }]) => [id, raw])),
  };
}
