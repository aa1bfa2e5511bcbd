import { failedKeys, failingTasks, metricsWithATenantsKey } from './accounts.ts';
import type { Attack } from './attack.ts';
import { brokenForms, deepBodies, hangingBodies, schemaBomb } from './bodies.ts';
import {
  halfClosed,
  malformedRequests,
  pipelining,
  slowReaders,
  slowWriters,
  unreadDownloads,
} from './connections.ts';
import { avifEncodes, decoderBombs, freeEdits, hostileNames } from './pictures.ts';
import { badUpstreams, hostileUpstream, operatorsMoney, overcharge } from './providers.ts';

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
  failedKeys,
  deepBodies,
  halfClosed,
  avifEncodes,
  operatorsMoney,
  overcharge,
  schemaBomb,
  metricsWithATenantsKey,
];
