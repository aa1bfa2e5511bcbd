import type { Attack } from './attack.ts';
import { avifEncodes } from './avif-encodes.ts';
import { badUpstreams } from './bad-upstreams.ts';
import { brokenForms } from './broken-forms.ts';
import { decoderBombs } from './decoder-bombs.ts';
import { deepBodies } from './deep-bodies.ts';
import { failedKeys } from './failed-keys.ts';
import { failingTasks } from './failing-tasks.ts';
import { freeEdits } from './free-edits.ts';
import { halfClosed } from './half-closed.ts';
import { hangingBodies } from './hanging-bodies.ts';
import { hostileNames } from './hostile-names.ts';
import { hostileUpstream } from './hostile-upstream.ts';
import { malformedRequests } from './malformed-requests.ts';
import { metricsWithATenantsKey } from './metrics-with-a-tenants-key.ts';
import { operatorsMoney } from './operators-money.ts';
import { overcharge } from './overcharge.ts';
import { pipelining } from './pipelining.ts';
import { schemaBomb } from './schema-bomb.ts';
import { slowReaders } from './slow-readers.ts';
import { slowWriters } from './slow-writers.ts';
import { twoHosts } from './two-hosts.ts';
import { unreadDownloads } from './unread-downloads.ts';

/** All scenarios, the longest first, so that a short run completes them. */
export const ATTACKS: readonly Attack[] = [
  freeEdits,
  unreadDownloads,
  slowWriters,
  slowReaders,
  decoderBombs,
  hostileUpstream,
  hangingBodies,
  malformedRequests,
  badUpstreams,
  failingTasks,
  hostileNames,
  pipelining,
  brokenForms,
  twoHosts,
  failedKeys,
  deepBodies,
  halfClosed,
  avifEncodes,
  operatorsMoney,
  overcharge,
  schemaBomb,
  metricsWithATenantsKey,
];
