import { type Bench, runCases, type Trial } from '../cases.ts';
import { wrk } from '../daemon/trial.ts';
import { programVersion } from '../peers.ts';
import type { Report, Settings, Suite } from '../suite.ts';
import { packages } from './field.ts';
import { json, jsonPinned } from './json.ts';
import { nginx } from './nginx.ts';
import { slowReader } from './slow-reader.ts';
import { streamsFirst, streamsFlat, streamsPaced } from './stream-cases.ts';

const cases: Record<string, (bench: Bench) => Promise<Trial>> = {
  json,
  'json-pinned': jsonPinned,
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
  return {
    versions: {
      nginx: programVersion(nginx, ['-v']),
      wrk: programVersion(wrk, ['--version']),
      ...packages,
    },
    ...(await runCases('gateway', cases, settings, log)),
  };
}
