import type { FastifyInstance, FastifyReply } from 'fastify';
import * as v from 'valibot';
import {
  COUNTS,
  csvOf,
  reportNamed,
  reportUsage,
  teamIdsOf,
  type UsageRecord,
  type UsageReport,
} from '../../../administration/usage-report.ts';
import { day, field, optional } from '../../../schema/fields.ts';
import { isTagDimension, USAGE_DIMENSIONS, usageDimensions } from '../../../store/usage-report.ts';
import { jsonSchemaOf } from '../../openapi/openapi.ts';
import type { AppContext } from '../../request/app-context.ts';
import { addEndpoint } from '../../request/endpoint.ts';
import { filter, listShape } from '../../request/query.ts';

const counts = {
  requests: v.number(),
  input_tokens: v.number(),
  cached_input_tokens: v.number(),
  cache_write_tokens: v.number(),
  cache_write_1h_tokens: v.number(),
  output_tokens: v.number(),
  cache_hits: v.number(),
  outputs: v.number(),
  errors: v.number(),
  credits: v.number(),
};

const accountRow = {
  day: v.optional(v.string()),
  model: v.optional(v.string()),
  key_id: v.optional(v.nullable(v.string())),
  key_name: v.optional(v.nullable(v.string())),
  team_id: v.optional(v.nullable(v.string())),
  team_name: v.optional(v.nullable(v.string())),
  tags: v.optional(v.record(v.string(), v.nullable(v.string()))),
  ...counts,
};

const ownerRow = {
  account_id: v.optional(v.string()),
  account_name: v.optional(v.string()),
  ...accountRow,
};

/** A row of a report, with the names by which it sums. */
export const usageRowShape = v.object(ownerRow);

export type UsageRow = v.InferOutput<typeof usageRowShape>;

/** A row of a report as JSON. */
export function usageRowOf(record: UsageRecord): UsageRow {
  const { account, accountId, team, teamId, key, keyId, model, day: date, tags, credits } = record;
  return {
    ...(accountId !== undefined && { account_id: accountId, account_name: account! }),
    ...(date !== undefined && { day: date }),
    ...(model !== undefined && { model }),
    ...(keyId !== undefined && { key_id: keyId, key_name: key! }),
    ...(teamId !== undefined && { team_id: teamId, team_name: team! }),
    ...(tags !== undefined && { tags }),
    ...(countsOf(record) as Record<(typeof COUNTS)[number][1], number>),
    credits,
  };
}

function countsOf(record: UsageReport['total']) {
  return Object.fromEntries(COUNTS.map(([property, name]) => [name, record[property]]));
}

/** The parameter `by`: dimensions, separated by commas. */
function columns(dimensions: readonly string[]) {
  return field(
    v.pipe(
      v.string(),
      v.check(
        (text) =>
          usageDimensions(text)?.every((one) => dimensions.includes(one) || isTagDimension(one)) ??
          false,
      ),
    ),
    `group rows by: ${dimensions.map((one) => `\`${one}\``).join(', ')}, \`tag:NAME\`, or several, separated by commas`,
    { expects: `one or more of ${dimensions.join(', ')} and tag:NAME, separated by commas` },
  );
}

const conditions = {
  from: optional(day(), 'first day (UTC); 29 days before the last by default'),
  to: optional(day(), 'last day (UTC); today by default'),
  key: filter('only the key with this id'),
  team: filter('only what keys used while they were in the team of this id or name'),
  model: filter('only this model or image endpoint'),
  format: optional(
    v.picklist(['json', 'csv']),
    'json, or csv for a spreadsheet, with a line of titles; without it as `Accept` asks',
  ),
};

const accountQuery = v.strictObject({
  by: v.optional(columns(['day', 'model', 'key', 'team']), 'day'),
  ...conditions,
});

const ownerQuery = v.strictObject({
  by: v.optional(columns(USAGE_DIMENSIONS), 'account,model'),
  account: filter('only the account with this id or name'),
  ...conditions,
});

type Format = v.InferOutput<typeof accountQuery>['format'];

/** The entry of a response that is a list, or CSV. */
function listOrCsv(list: v.GenericSchema): object {
  return {
    description: 'Success',
    content: {
      'application/json': { schema: jsonSchemaOf(list, 'output') },
      'text/csv': { schema: { type: 'string' } },
    },
  };
}

/** The format that the header `Accept` asks for: CSV where it names that, and neither JSON nor anything. */
function acceptedFormat(accept = ''): 'json' | 'csv' {
  return /\btext\/csv\b/i.test(accept) && !/\*\/\*|\bjson\b/i.test(accept) ? 'csv' : 'json';
}

/** @param toJson the body for clients of JSON */
function send<Body>(
  reply: FastifyReply,
  report: UsageReport,
  format: Format,
  toJson: (report: UsageReport) => Body,
): Body | string {
  reply.header('vary', reply.hasHeader('vary') ? 'origin, accept' : 'accept');
  if ((format ?? acceptedFormat(reply.request.headers.accept)) === 'json') return toJson(report);
  reply.type('text/csv; charset=utf-8').serializer((text) => String(text));
  return `${csvOf(report)}\n`;
}

/** Reports of usage. Requests count against the rate limit: a report may read many rows. */
export function usageRoutes(server: FastifyInstance, { store }: AppContext): void {
  addEndpoint(server, {
    path: 'GET /v1/account/usage',
    tag: 'Account',
    summary:
      'Requests, errors, tokens, outputs and credits of the account, by day, model, key, team and tag; days are UTC, inclusive',
    query: accountQuery,
    answer: listOrCsv(listShape(v.object(accountRow))),
    handler: async ({ holder, query }, reply) => {
      const { by, team, key: keyId, format, ...rest } = query;
      const accountId = holder.account.id;
      const report = await reportUsage(store, {
        ...rest,
        by: usageDimensions(by)!,
        accountId,
        keyId,
        teamIds: team === undefined ? undefined : await teamIdsOf(store, team, accountId),
      });
      return send(reply, report, format, ({ rows }) => ({
        object: 'list',
        data: rows.map(usageRowOf),
      }));
    },
  });
}

/** The report over all accounts. */
export function ownerUsageRoute(server: FastifyInstance, { store }: AppContext): void {
  addEndpoint(server, {
    path: 'GET /v1/admin/usage',
    tag: 'Operation',
    summary:
      'Requests, errors, tokens, outputs and credits of all accounts, by account, team, key, model, day and tag; for keys of the account owner',
    query: ownerQuery,
    answer: listOrCsv(
      v.object({
        object: v.literal('list'),
        from: v.string(),
        to: v.string(),
        data: v.array(usageRowShape),
        total: v.object(counts),
      }),
    ),
    handler: async ({ query }, reply) => {
      const { by, key: keyId, format, ...rest } = query;
      const report = await reportNamed(store, { ...rest, by: usageDimensions(by)!, keyId });
      return send(reply, report, format, ({ from, to, rows, total }) => ({
        object: 'list',
        from,
        to,
        data: rows.map(usageRowOf),
        total: { ...countsOf(total), credits: total.credits },
      }));
    },
  });
}
