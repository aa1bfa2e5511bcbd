import { Corpus } from '../images/corpus.ts';
import { needing, type Suite, suiteOf, type Trial, versionsOf } from '../trial.ts';
import { BATCH, batch } from './batch.ts';
import { BATCH_MEMORY, batchMemory } from './batch-memory.ts';
import { FAIRNESS, fairness } from './fairness.ts';
import { lookup } from './lookup.ts';
import { ready } from './ready.ts';
import { type Bench, curl, wrk } from './trial.ts';
import { urls } from './urls.ts';
import { ZIP, zip } from './zip.ts';

type Case = (bench: Bench) => Promise<Trial>;

/** A case that curl sends requests for. */
const withCurl =
  ({ title, goal }: { title: string; goal: string }, work: Case): Case =>
  (bench) =>
    needing([curl], title, goal, () => work(bench))(bench);

const cases: Record<string, Case> = {
  ready,
  lookup,
  batch: withCurl(BATCH, batch),
  'batch-memory': withCurl(BATCH_MEMORY, batchMemory),
  zip: withCurl(ZIP, zip),
  fairness: withCurl(FAIRNESS, fairness),
  urls,
};

/** The daemon over real sockets, compared with the command line and with minimal servers. */
export const daemon: Suite = suiteOf(
  'daemon',
  'the daemon over HTTP, against the command line and a route that does nothing',
  Object.fromEntries(
    Object.entries(cases).map(([id, work]) => [
      id,
      (bench) => work({ ...bench, corpus: new Corpus(bench.settings.scratch, bench.log) }),
    ]),
  ),
  () => versionsOf({ wrk: [wrk, '--version'], curl: [curl, '--version'] }),
);
