import * as v from 'valibot';
import { integer, section, withDefault } from '../../schema/fields.ts';
import { duration } from '../fields/units.ts';

/** How routes are tried. */
export const routing = v.strictObject({
  retries: withDefault(
    integer(0, 10),
    2,
    'Retries of a route before the next route is tried; 0 for none.',
  ),
  cooldown: section(
    v.strictObject({
      after: withDefault(
        integer(0, 1000),
        5,
        'Consecutive failures after which an account skips a route; 0 for never.',
      ),
      for: withDefault(duration('1ms'), '30s', 'How long a route is skipped.'),
    }),
    'Cooldown of a route that keeps failing: it is skipped for a while, then tried again. Once two accounts have failed, all accounts skip it.',
  ),
  affinity: section(
    v.strictObject({
      for: withDefault(
        duration('0s'),
        '1h',
        'How long a conversation stays after its last answer; providers cache it about as long. 0s for never.',
      ),
      conversations: withDefault(
        integer(0, 1_000_000),
        10_000,
        'Most conversations that are remembered, over all accounts.',
      ),
    }),
    'A text conversation that moved to another route stays there, because that provider has ' +
      'it in its cache, until the route fails or is skipped. Requests of a key belong to one ' +
      'conversation if they share a prompt_cache_key, a metadata.user_id with a session, or ' +
      'instructions, tools and first turn.',
  ),
  timeouts: section(
    v.strictObject({
      connect: withDefault(duration('1ms'), '5s', 'Longest wait for a connection.'),
      firstByte: withDefault(
        duration('1ms'),
        '120s',
        'Longest wait until a streamed response begins; other responses have until `total`.',
      ),
      idle: withDefault(duration('1ms'), '120s', 'Longest wait between two chunks of a response.'),
      total: withDefault(duration('1ms'), '10m', 'Longest duration of a request.'),
    }),
    'Timeouts of requests to providers.',
  ),
  afterCrash: withDefault(
    v.picklist(['retry', 'fail']),
    'retry',
    'What happens to a media task whose request was in progress when the daemon stopped (by a ' +
      'crash, or after server.grace), if the provider knows no idempotency keys and may charge ' +
      'again: retry sends the request again, fail ends the task as billable_error.',
  ),
});
