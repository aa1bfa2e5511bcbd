import * as v from 'valibot';
import { integer, withDefault } from '../../schema/fields.ts';
import { ONCE } from '../fields/text.ts';
import { duration, size } from '../fields/units.ts';

/** WebSockets of responses. */
export const sockets = v.strictObject({
  perAccount: withDefault(
    integer(1, 1_000_000),
    1000,
    'Open WebSockets of an account, in each process of the daemon. Further ones get 429.',
  ),
  lifetime: withDefault(
    duration('1s', '60m'),
    '60m',
    'Age at which a WebSocket closes, after the responses in progress. Its client opens another one.',
  ),
  ping: withDefault(
    duration('1s', '10m'),
    '30s',
    'How often the daemon sends a ping. It closes a WebSocket from which nothing has come until the next one, or whose ' +
      'key is not valid any more.',
    ONCE,
  ),
  memory: withDefault(
    size('0MB', '1TB'),
    '256MB',
    'Memory for responses that are not stored, so that their open WebSocket can continue them. The account that has most loses its ' +
      'oldest ones first.',
  ),
  memoryPerSocket: withDefault(size('0MB', '1TB'), '16MB', 'The same of one WebSocket.'),
});
