import type { FastifyPluginAsync } from 'fastify';
import * as v from 'valibot';
import { Failure } from '../../failure.ts';
import { day, field } from '../../schema/fields.ts';
import { toCredits } from '../../store/credits.ts';
import { dayOf } from '../../store/ledger.ts';
import {
  sumUsage,
  type UsageDimension,
  type UsageFilter,
  usageDimensions,
} from '../../store/usage-report.ts';
import type { AppContext } from '../app-context.ts';

const rowShape = v.object({
  day: v.optional(v.string()),
  model: v.optional(v.string()),
  key_id: v.optional(v.nullable(v.string())),
  key_name: v.optional(v.nullable(v.string())),
  team_id: v.optional(v.nullable(v.string())),
  team_name: v.optional(v.nullable(v.string())),
  requests: v.number(),
  input_tokens: v.number(),
  cached_input_tokens: v.number(),
  output_tokens: v.number(),
  outputs: v.number(),
  credits: v.number(),
});

/** The dimensions of an account's own usage, with commas between them. */
const COLUMNS = /^(day|model|key|team)(,(day|model|key|team)){0,3}$/;

const reference = (description: string) =>
  v.optional(
    field(v.pipe(v.string(), v.nonEmpty(), v.maxLength(256)), description, {
      expects: '1 to 256 characters',
    }),
  );

const usageQuery = v.strictObject({
  from: v.optional(field(day(), 'the first day, UTC; 29 days before the last')),
  to: v.optional(field(day(), 'the last day, UTC; today')),
  by: v.optional(
    field(
      v.pipe(
        v.string(),
        v.regex(COLUMNS),
        v.check((text) => usageDimensions(text) !== undefined),
      ),
      'what one row is the sum of: `day`, `model`, `key`, `team`, or several with commas between them',
      { expects: 'some of day, model, key, team, with commas between them' },
    ),
    'day',
  ),
  key: reference('only the key with this id'),
  team: reference('only what keys used while they were in the team of this id or name'),
  model: reference('only this model, or this endpoint of image tools'),
});

/** Days of usage where the query has no `from`. */
const DEFAULT_DAYS = 30;

/** Maximum rows of a response, some 3 MB. */
const MAX_ROWS = 10_000;

/** Usage of the account of the API key. Requests count against the rate limit: a report may read many rows. */
export function usageRoutes({ store }: AppContext): FastifyPluginAsync {
  return async (server) => {
    server.get<{ Querystring: v.InferOutput<typeof usageQuery> }>('/v1/account/usage', {
      schema: {
        summary:
          'Requests, tokens, outputs and credits of the account, by day, model, key and team; days are UTC, inclusive',
        tags: ['Account'],
        querystring: usageQuery,
        response: { 200: v.object({ object: v.literal('list'), data: v.array(rowShape) }) },
      },
      handler: async ({ holder, query }) => {
        const { id } = holder.account;
        const to = query.to ?? dayOf(Date.now());
        const from = query.from ?? dayOf(Date.parse(to) - (DEFAULT_DAYS - 1) * 86_400_000);
        const by = usageDimensions(query.by)!;
        const teams =
          query.team !== undefined || by.includes('team') ? await store.listTeams(id) : [];
        const keys = by.includes('key') ? await store.listKeys(id) : [];
        const filter: UsageFilter = {
          model: query.model,
          keyIds: query.key === undefined ? undefined : new Set([query.key]),
          teamIds:
            query.team === undefined
              ? undefined
              : new Set(
                  teams
                    .filter((team) => team.id === query.team || team.name === query.team)
                    .map((team) => team.id),
                ),
        };
        const sums = sumUsage(await store.listUsage(id, { from, to }), by, filter);
        if (sums.length > MAX_ROWS) {
          const message = `by: the response would have ${sums.length} rows, at most ${MAX_ROWS} are sent; name fewer columns, or fewer days by from and to`;
          throw new Failure('invalid_request', message, { param: 'by' });
        }
        const nameOf = new Map([...teams, ...keys].map((one) => [one.id, one.name]));
        const named = (column: 'key' | 'team', value: string | null | undefined) =>
          value === undefined
            ? {}
            : { [`${column}_id`]: value, [`${column}_name`]: nameOf.get(value ?? '') ?? null };
        return {
          object: 'list',
          data: sums.map(({ names, spent, ...counts }) => {
            const own = (dimension: UsageDimension) =>
              names[dimension] == null ? {} : { [dimension]: names[dimension] };
            return {
              ...own('day'),
              ...own('model'),
              ...named('key', names.key),
              ...named('team', names.team),
              requests: counts.requests,
              input_tokens: counts.inputTokens,
              cached_input_tokens: counts.cachedInputTokens,
              output_tokens: counts.outputTokens,
              outputs: counts.outputs,
              credits: toCredits(spent),
            };
          }),
        };
      },
    });
  };
}
