import type { Overview } from '../../../http/routes/account/overview.ts';
import type { Readiness } from '../../../http/routes/server/health.ts';
import { useAccount, useJson, useRefresh } from '../../api/resource.ts';
import { Button } from '../../components/button.tsx';
import { Chart } from '../../components/chart.tsx';
import { Figures } from '../../components/figures.tsx';
import {
  formatClock,
  formatCredits,
  formatDate,
  formatDay,
  formatDuration,
  formatNumber,
  formatPercent,
  formatRoundCredits,
  formatShortDay,
} from '../../components/format.ts';
import { Link, open, type ViewProps } from '../../components/navigation.tsx';
import { Empty, Loaded } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';
import { Checklist } from './checklist.tsx';

const REFRESH_MS = 30_000;

const PERIODS = { '24h': '24 hours', '7d': '7 days', '30d': '30 days' } as const;

/** What happens now: requests, errors, cost and latency over time, and what is used most. */
export default function Start({ place, session }: ViewProps) {
  const asked = place.query.get('period') ?? '';
  const period = Object.hasOwn(PERIODS, asked) ? (asked as keyof typeof PERIODS) : '24h';
  const readiness = useJson<Readiness>('readyz');
  const scope = session.owner ? 'admin' : 'account';
  const overview = useJson<Overview>(`v1/${scope}/overview?period=${period}`);
  useRefresh(() => {
    overview.reload();
    readiness.reload();
  }, REFRESH_MS);
  return (
    <>
      <div class="row">
        <h1>Overview</h1>
        <span class="muted">{session.owner ? 'All accounts' : session.account.name}</span>
        <fieldset class="row end gap-s">
          <legend class="hidden">Period</legend>
          {Object.entries(PERIODS).map(([name, label]) => (
            <Button
              key={name}
              kind={name === period ? 'plain' : 'quiet'}
              aria-pressed={name === period}
              onClick={() => open(`?period=${name}`, { replace: true })}
            >
              {label}
            </Button>
          ))}
        </fieldset>
      </div>
      {session.owner && overview.data?.sandbox && <SandboxNotice />}
      {session.owner && <Checklist session={session} />}
      {readiness.data && <Health readiness={readiness.data} />}
      <Loaded resource={overview}>{(data) => <Report overview={data} />}</Loaded>
    </>
  );
}

function SandboxNotice() {
  return (
    <div class="notice">
      <p>
        <strong>The models here are a sandbox.</strong> They make up their answers, so you can try
        everything without an account anywhere. Add a provider at{' '}
        <Link to="models">Models & routes</Link> to use real ones.
      </p>
    </div>
  );
}

/** What needs attention; nothing while all is well. */
function Health({ readiness: { store, upstreams } }: { readonly readiness: Readiness }) {
  const [routes, keys] = [upstreams?.routes.length ?? 0, upstreams?.keys.length ?? 0];
  if (!store && routes + keys === 0) return null;
  const counted = (count: number, what: string) =>
    count > 0 && (
      <span>
        {formatNumber(count)} {what}
        {count > 1 && 's'} cooling down
      </span>
    );
  return (
    <div class={`notice ${store ? 'bad' : 'warn'}`} role="status">
      {store && <p>The store needs attention: {store.reason}</p>}
      <p class="facts">
        {counted(routes, 'route')}
        {counted(keys, 'provider key')}
      </p>
    </div>
  );
}

function Report({ overview }: { readonly overview: Overview }) {
  const { total, models, keys, step_seconds: step, top_from: from } = overview;
  const points = pointsOf(overview);
  const account = useAccount();
  const isByDay = step >= 86_400;
  const times = points.map(({ at }) => at);
  const names = isByDay
    ? { timeName: formatDate, tickName: formatShortDay }
    : { tickName: formatClock };
  const valuesOf = (name: 'credits' | 'p50_ms' | 'p95_ms') => points.map((one) => one[name]);
  const charts = [
    {
      ...{ title: 'Requests', label: 'Requests', format: formatNumber },
      series: [
        { name: 'Succeeded', values: points.map((one) => one.requests - one.errors) },
        { name: 'Failed', values: points.map((one) => one.errors), isBad: true },
      ],
    },
    {
      ...{ title: 'Cost in credits', label: 'Credits', format: formatCredits },
      series: [{ name: 'Credits', values: valuesOf('credits') }],
    },
    {
      ...{ title: 'Latency', label: 'Latency', kind: 'lines' as const, format: formatDuration },
      series: [
        { name: 'p50', values: valuesOf('p50_ms') },
        { name: 'p95', values: valuesOf('p95_ms') },
      ],
    },
  ];
  const { requests, errors, credits, p50_ms: p50, p95_ms: p95 } = total;
  const left = account.data && formatRoundCredits(account.data.credits.available);
  return (
    <>
      <Figures
        figures={[
          ['Requests', formatNumber(requests)],
          ['Errors', formatNumber(errors), requests > 0 && formatPercent(errors / requests)],
          ['Cost', formatRoundCredits(credits), 'credits'],
          ['Latency p50', p50 === null ? '–' : formatDuration(p50), 'half of all answers'],
          ['Latency p95', p95 === null ? '–' : formatDuration(p95), '19 of 20'],
          ['Credits left', left ?? '…', 'this account'],
        ]}
      />
      {requests === 0 && models.length === 0 ? (
        <Empty title="No requests yet">
          <p>
            Say something to a model in <Link to="chat">Chat</Link>, make an image at{' '}
            <Link to="create">Create</Link>, or <Link to="connect">connect a client</Link>.
          </p>
        </Empty>
      ) : (
        <div class="columns" style={{ '--least': '18rem' }}>
          {charts.map(({ title, ...chart }) => (
            <section key={title} class="card" aria-label={title}>
              <h2>{title}</h2>
              <Chart {...{ times, ...names, ...chart }} />
            </section>
          ))}
        </div>
      )}
      <div class="columns top" style={{ '--least': '22rem' }}>
        <Top title="Top models" rows={models} from={from} nameOf={({ model }) => model} />
        <Top
          title="Top keys"
          rows={keys}
          from={from}
          nameOf={({ key_name: key, account_name: owner }) =>
            `${owner ? `${owner} · ` : ''}${key || 'unnamed'}`
          }
        />
      </div>
    </>
  );
}

/** All steps; those without usage have no latency. */
function pointsOf({ from, steps, step_seconds: step, points }: Overview): Overview['points'] {
  const known = new Map(points.map((point) => [point.at, point]));
  return Array.from({ length: steps }, (_, index) => {
    const at = from + index * step;
    const none = { requests: 0, errors: 0, credits: 0, p50_ms: null, p95_ms: null };
    return known.get(at) ?? { at, ...none };
  });
}

type Row = Overview['models'][number];

interface TopProps {
  readonly title: string;
  readonly rows: readonly Row[];
  /** First day, UTC. */
  readonly from: string;
  readonly nameOf: (row: Row) => string | undefined;
}

function Top({ title, rows, from, nameOf }: TopProps) {
  if (rows.length === 0) return null;
  return (
    <Table
      caption={`${title} since ${formatDay(from)}`}
      showCaption
      rows={rows}
      keyOf={(_, index) => index}
      columns={[
        ['Name', nameOf, 'wide'],
        ['Requests', (row) => formatNumber(row.requests), 'number'],
        ['Errors', (row) => formatNumber(row.errors), 'number'],
        ['Credits', (row) => formatCredits(row.credits), 'number'],
      ]}
    />
  );
}
