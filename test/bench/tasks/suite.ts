import { type Bench, runCases, type Trial } from '../cases.ts';
import { wrk } from '../daemon/trial.ts';
import { programVersion } from '../peers.ts';
import type { Report, Settings, Suite } from '../suite.ts';
import { create } from './create.ts';
import { latency, throughput } from './latency.ts';
import { poll } from './poll.ts';
import { memory, restart } from './queue.ts';

const cases: Record<string, (bench: Bench) => Promise<Trial>> = {
  create,
  poll,
  latency,
  throughput,
  memory,
  restart,
};

/** Media tasks over HTTP: rate of creation, polling and completion, beside the limits of disk and provider. */
export const tasks: Suite = {
  summary:
    'media tasks over HTTP, beside bare appends to a file, routes that do nothing, and the provider',
  cases: Object.keys(cases),
  run,
};

async function run(settings: Settings, log: (line: string) => void): Promise<Report> {
  return {
    versions: { wrk: programVersion(wrk, ['--version']) },
    ...(await runCases('tasks', cases, settings, log)),
  };
}
