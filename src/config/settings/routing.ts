import * as v from 'valibot';
import { field, integer } from '../../schema/fields.ts';
import { duration } from '../fields/units.ts';

/** How routes are tried. */
export const routing = v.strictObject({
  retries: v.optional(
    field(integer(0, 10), 'Retries of one route before the next one is tried; 0 for none.'),
    2,
  ),
  cooldown: v.nullish(
    field(
      v.strictObject({
        after: v.optional(
          field(
            integer(0, 1000),
            'Failures in a row after which an account skips a route; 0 for never.',
          ),
          5,
        ),
        for: v.optional(field(duration('1ms'), 'How long it is skipped.'), '30s'),
      }),
      'A route that keeps failing is skipped for a while, then tried again. All accounts skip it once two fail.',
    ),
    {},
  ),
  affinity: v.nullish(
    field(
      v.strictObject({
        for: v.optional(
          field(
            duration('0s'),
            'How long after its last answer, as long as providers may cache it; 0s for never.',
          ),
          '1h',
        ),
        conversations: v.optional(
          field(integer(0, 1_000_000), 'Conversations that are remembered, of all accounts.'),
          10_000,
        ),
      }),
      'A text conversation that another route than the first answered stays with that route, which has it ' +
        'in its cache, until it fails or is skipped. A conversation is what has one prompt_cache_key, one ' +
        'metadata.user_id with a session, or the same instructions, tools and first turn, of one key.',
    ),
    {},
  ),
  timeouts: v.nullish(
    field(
      v.strictObject({
        connect: v.optional(field(duration('1ms'), 'Until a connection is open.'), '5s'),
        firstByte: v.optional(
          field(duration('1ms'), 'Until a streamed response begins; others have until `total`.'),
          '120s',
        ),
        idle: v.optional(field(duration('1ms'), 'Between two chunks of a response.'), '120s'),
        total: v.optional(field(duration('1ms'), 'For the whole request.'), '10m'),
      }),
      'Timeouts of requests to providers.',
    ),
    {},
  ),
  afterCrash: v.optional(
    field(
      v.picklist(['retry', 'fail']),
      'A media task whose request to a provider was in progress when the server stopped (a crash, or a stop ' +
        'that outlasted server.grace), if the provider knows no idempotency keys and may charge again: ' +
        'retry sends the request again, fail ends the task as billable_error.',
    ),
    'retry',
  ),
});
