import { wrk } from '../daemon/trial.ts';
import { suiteOf, versionsOf } from '../trial.ts';
import { packages } from './field.ts';
import { json } from './json.ts';
import { nginx } from './nginx.ts';
import { slowReader } from './slow-reader.ts';
import { streamsFirst, streamsFlat, streamsPaced } from './streams.ts';

/** The text gateway over real sockets, against minimal gateways, nginx and another gateway. */
export const gateway = suiteOf(
  'gateway',
  'the text gateway, against minimal gateways, nginx and Portkey',
  {
    json,
    'streams-flat': streamsFlat,
    'streams-paced': streamsPaced,
    'streams-first': streamsFirst,
    'slow-reader': slowReader,
  },
  () => ({ ...versionsOf({ nginx: [nginx, '-v'], wrk: [wrk, '--version'] }), ...packages }),
);
