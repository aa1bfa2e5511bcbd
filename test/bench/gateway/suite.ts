import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Trial } from '../daemon/trial.ts';
import { wrk } from '../daemon/trial.ts';
import { Interruption } from '../measure.ts';
import { programVersion } from '../peers.ts';
import { chosenCases, type Report, type Settings, type Suite } from '../suite.ts';
import { type Bench, packages } from './field.ts';
import { json } from './json.ts';
import { nginx } from './nginx.ts';
import { slowReader } from './slow-reader.ts';
import { streamsFirst, streamsFlat, streamsPaced } from './stream-cases.ts';

const cases: Record<string, (bench: Bench) => Promise<Trial>> = {
  json,
  'streams-flat': streamsFlat,
  'streams-paced': streamsPaced,
  'streams-first': streamsFirst,
  'slow-reader': slowReader,
};

/** The text gateway over real sockets, against minimal gateways, nginx and another gateway. */
export const gateway: Suite = {
  summary: 'the text gateway, against minimal gateways, nginx and Portkey',
  cases: Object.keys(cases),
  run,
};

async function run(settings: Settings, log: (line: string) => void): Promise<Report> {
  const trials = new Map<string, Trial>();
  const faults: string[] = [];
  const runs = join(settings.scratch, `gateway-${process.pid}`);
  try {
    for (const id of chosenCases(gateway.cases, settings.only)) {
      log(id);
      const folder = join(runs, id);
      mkdirSync(folder, { recursive: true });
      try {
        trials.set(id, await cases[id]!({ settings, folder, log }));
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
      nginx: programVersion(nginx, ['-v']),
      wrk: programVersion(wrk, ['--version']),
      ...packages,
    },
    sections: all.map(({ section }) => section),
    goals: all.flatMap(({ goals }) => goals),
    faults: [...faults, ...all.flatMap((trial) => trial.faults)],
    raw: Object.fromEntries([...trials].map(([id, { raw }]) => [id, raw])),
  };
}
