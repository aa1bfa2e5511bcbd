import { wrk } from '../daemon/trial.ts';
import { suiteOf, versionsOf } from '../trial.ts';
import { create } from './create.ts';
import { latency, throughput } from './latency.ts';
import { memory, poll, restart } from './queue.ts';

/** Media tasks over HTTP: rate of creation, polling and completion, beside the limits of disk and provider. */
export const tasks = suiteOf(
  'tasks',
  'media tasks over HTTP, beside bare appends to a file, routes that do nothing, and the provider',
  { create, poll, latency, throughput, memory, restart },
  () => versionsOf({ wrk: [wrk, '--version'] }),
);
