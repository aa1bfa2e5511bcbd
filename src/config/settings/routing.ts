import * as v from 'valibot';
import { integer, section, withDefault } from '../../schema/fields.ts';
import { duration } from '../fields/units.ts';

/** How routes are tried. */
export const routing = v.strictObject({
  retries: withDefault(
    integer(0, 10),
    2,
    'Retries of one route before the next one is tried; 0 for none.',
  ),
  cooldown: section(
    v.strictObject({
      after: withDefault(
        integer(0, 1000),
        5,
        'Failures in a row after which an account skips a route; 0 for never.',
      ),
      for: withDefault(duration('1ms'), '30s', 'How long it is skipped.'),
    }),
    'A route that keeps failing is skipped for a while, then tried again. All accounts skip it once two fail.',
  ),
  affinity: section(
    v.strictObject({
      for: withDefault(
        duration('0s'),
        '1h',
        'How long after its last answer, as long as providers may cache it; 0s for never.',
      ),
      conversations: withDefault(
        integer(0, 1_000_000),
        10_000,
        'Conversations that are remembered, of all accounts.',
      ),
    }),
    'A text conversation that another route than the first answered stays with that route, which has it ' +
      'in its cache, until it fails or is skipped. A conversation is what has one prompt_cache_key, one ' +
      'metadata.user_id with a session, or the same instructions, tools and first turn, of one key.',
  ),
  timeouts: section(
    v.strictObject({
      connect: withDefault(duration('1ms'), '5s', 'Until a connection is open.'),
      firstByte: withDefault(
        duration('1ms'),
        '120s',
        'Until a streamed response begins; others have until `total`.',
      ),
      idle: withDefault(duration('1ms'), '120s', 'Between two chunks of a response.'),
      total: withDefault(duration('1ms'), '10m', 'For the whole request.'),
    }),
    'Timeouts of requests to providers.',
  ),
  afterCrash: withDefault(
    v.picklist(['retry', 'fail']),
    'retry',
    'A media task whose request to a provider was in progress when the server stopped (a crash, or a stop ' +
      'that outlasted server.grace), if the provider knows no idempotency keys and may charge again: ' +
      'retry sends the request again, fail ends the task as billable_error.',
  ),
});
