import type { FastifyInstance } from 'fastify';
import * as v from 'valibot';
import { reportUsage, type UsageTotal } from '../../../administration/usage-report.ts';
import { field, withDefault } from '../../../schema/fields.ts';
import { toCredits } from '../../../store/credits.ts';
import { utcDayOf } from '../../../store/ledger.ts';
import type { UsageDimension } from '../../../store/usage-report.ts';
import { type SeriesPoint, SLOT_MS } from '../../observability/request-series.ts';
import type { AppContext } from '../../request/app-context.ts';
import { addEndpoint } from '../../request/endpoint.ts';
import { seconds } from '../../request/query.ts';
import { type UsageRow, usageRowOf, usageRowShape } from './usage.ts';

const DAY_MS = 86_400_000;

/** Days of each period; the shortest has quarters of an hour. */
const PERIODS = { '24h': 1, '7d': 7, '30d': 30 } as const;
type Period = keyof typeof PERIODS;

const measures = {
  requests: v.number(),
  errors: v.number(),
  credits: v.number(),
  p50_ms: v.nullable(v.number()),
  p95_ms: v.nullable(v.number()),
};

const overviewShape = v.object({
  object: v.literal('overview'),
  sandbox: field(v.boolean(), 'whether all models are made up'),
  step_seconds: v.number(),
  total: v.object(measures),
  from: field(v.number(), 'start of the first step'),
  steps: v.number(),
  points: field(
    v.array(v.object({ at: v.number(), ...measures })),
    'the steps in which something was used',
  ),
  top_from: field(v.string(), 'first day (UTC) of the models and keys'),
  models: field(v.array(usageRowShape), 'with the most credits, then requests'),
  keys: v.array(usageRowShape),
});

export type Overview = v.InferOutput<typeof overviewShape>;

const query = v.strictObject({
  period: withDefault(
    v.picklist(Object.keys(PERIODS) as Period[]),
    '24h',
    'the last 24 hours in quarters of an hour, or the last 7 or 30 days (UTC)',
  ),
});

const DESCRIPTION =
  'The last 24 hours are the requests of this node, and before its start those that the log has of all nodes; so are ' +
  'all latencies. The other figures of 7 and 30 days are sums of stored usage.';

/** Models and keys of a list. */
const TOP = 5;

/** Requests, errors, credits and latencies over time, and what is used most. */
export function overviewRoute(server: FastifyInstance, context: AppContext): void {
  addEndpoint(server, {
    path: 'GET /v1/account/overview',
    tag: 'Account',
    summary:
      "The account's requests, errors, credits and latencies over time, with its top models and keys",
    description: DESCRIPTION,
    query,
    answer: overviewShape,
    handler: async ({ holder, query: { period } }) =>
      overviewOf(context, period, ['key'], holder.account.id),
  });
}

/** The overview of all accounts. */
export function ownerOverviewRoute(server: FastifyInstance, context: AppContext): void {
  addEndpoint(server, {
    path: 'GET /v1/admin/overview',
    tag: 'Operation',
    summary: 'The overview of all accounts; for keys of the account owner',
    description: DESCRIPTION,
    query,
    answer: overviewShape,
    handler: async ({ query: { period } }) => overviewOf(context, period, ['account', 'key']),
  });
}

async function overviewOf(
  { store, metrics, config }: AppContext,
  period: Period,
  keyDimensions: readonly UsageDimension[],
  accountId?: string,
): Promise<Overview> {
  const from = utcDayOf(Date.now() - (PERIODS[period] - (period === '24h' ? 0 : 1)) * DAY_MS);
  const report = (by: readonly UsageDimension[]) => reportUsage(store, { by, from, accountId });
  const days = await report(['day']);
  const [models, keys] = [await report(['model']), await report(keyDimensions)];
  const common = {
    object: 'overview' as const,
    sandbox: Object.values(config.providers).every(({ kind }) => kind === 'sandbox'),
    top_from: from,
    models: topOf(models.rows.map(usageRowOf)),
    keys: topOf(keys.rows.map(usageRowOf)),
  };
  if (period === '24h') {
    const { points, total } = metrics.requestSeries.read(accountId);
    return {
      step_seconds: SLOT_MS / 1000,
      from: seconds(points[0]!.at),
      steps: points.length,
      total: measuresOfPoint(total),
      points: points
        .filter(({ requests, charge }) => requests > 0 || charge > 0)
        .map((point) => ({ at: seconds(point.at), ...measuresOfPoint(point) })),
      ...common,
    };
  }
  const latencies = metrics.requestSeries.read(accountId, 'day', PERIODS[period]);
  const latenciesAt = new Map(latencies.points.map((point) => [point.at, point]));
  return {
    step_seconds: DAY_MS / 1000,
    from: seconds(Date.parse(from)),
    steps: PERIODS[period],
    total: measuresOf(days.total, latencies.total),
    points: days.rows.map((row) => {
      const at = Date.parse(row.day!);
      return { at: seconds(at), ...measuresOf(row, latenciesAt.get(at)) };
    }),
    ...common,
  };
}

function measuresOfPoint({ requests, errors, charge, p50, p95 }: SeriesPoint) {
  return { requests, errors, credits: toCredits(charge), p50_ms: p50, p95_ms: p95 };
}

function measuresOf({ requests, errors, credits }: UsageTotal, latencies?: SeriesPoint) {
  const { p50 = null, p95 = null } = latencies ?? {};
  return { requests, errors, credits, p50_ms: p50, p95_ms: p95 };
}

function topOf(rows: readonly UsageRow[]): UsageRow[] {
  return rows
    .toSorted((one, other) => other.credits - one.credits || other.requests - one.requests)
    .slice(0, TOP);
}
