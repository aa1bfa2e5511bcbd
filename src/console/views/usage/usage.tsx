import { useMemo, useState } from 'preact/hooks';
import type { UsageRow } from '../../../http/routes/account/usage.ts';
import { SERVER } from '../../api/request.ts';
import { useJson } from '../../api/resource.ts';
import { Button } from '../../components/button.tsx';
import { Chart } from '../../components/chart.tsx';
import { SelectField } from '../../components/field.tsx';
import { Figures } from '../../components/figures.tsx';
import type { FormField, Values } from '../../components/form-field.ts';
import { FilterFields } from '../../components/form-fields.tsx';
import {
  formatCredits,
  formatDate,
  formatDay,
  formatNumber,
  formatPercent,
  formatRoundCredits,
  formatShortDay,
} from '../../components/format.ts';
import { open, type ViewProps } from '../../components/navigation.tsx';
import { FromProgram } from '../../components/snippets.tsx';
import { Empty, Loaded } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';
import { Credits } from './credits.tsx';
import {
  cachedShare,
  DIMENSIONS,
  type Dimension,
  dimensionOf,
  lastDays,
  MEASURES,
  type Measure,
  pathOf,
  placeOf,
  type Question,
  questionOf,
  rowName,
  seriesOf,
  sumOf,
  type UsageList,
  type UsageSums,
} from './report.ts';

const PRESETS = [7, 30, 90];

/** Where credits go: by day, model, key, team and, for the owner, account. */
export default function Usage({ place, session }: ViewProps) {
  const now = Date.now();
  const question = questionOf(place.query, session.owner, now);
  const change = (changed: Partial<Question>) =>
    open(placeOf({ ...question, ...changed }), { replace: true });
  const { from, to, by, all } = question;
  const days = useJson<UsageList>(pathOf(question, 'day'));
  const parts = useJson<UsageList>(pathOf(question, dimensionOf(question)));
  return (
    <>
      <h1>Usage</h1>
      <Filters question={question} isOwner={session.owner} now={now} change={change} />
      <Loaded resource={days}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title={`Nothing was used from ${formatDay(from)} to ${formatDay(to)}`}>
              <p>Requests, tokens and files that models made are counted here.</p>
            </Empty>
          ) : (
            <Summary rows={data} question={question} />
          )
        }
      </Loaded>
      <Loaded resource={parts}>
        {({ data }) => data.length > 0 && <Parts rows={data} by={by} />}
      </Loaded>
      <p class="row">
        <a
          class="button"
          href={new URL(pathOf(question, dimensionOf(question), 'csv'), SERVER).href}
          download
        >
          Download as CSV
        </a>
      </p>
      <FromProgram
        what="This report"
        request={{ method: 'GET', path: pathOf(question, dimensionOf(question)) }}
      />
      {!all && (
        <>
          <h2>Credits</h2>
          <Credits />
        </>
      )}
    </>
  );
}

const OWNERS = [
  ['own', 'This account'],
  ['all', 'All accounts'],
] as const;

interface FiltersProps {
  readonly question: Question;
  readonly isOwner: boolean;
  readonly now: number;
  readonly change: (changed: Partial<Question>) => void;
}

function Filters({ question, isOwner, now, change }: FiltersProps) {
  const { from, to, by, all, tag } = question;
  const dimensions = Object.entries(DIMENSIONS).filter(([name]) => all || name !== 'account');
  const fields: readonly (FormField | false)[] = [
    { name: 'from', label: 'From', input: { type: 'date', max: to } },
    { name: 'to', label: 'To', input: { type: 'date', min: from } },
    { name: 'by', label: 'By', choices: dimensions },
    by === 'tag' && { name: 'tag', label: 'Name of the tag', kind: 'late' },
    isOwner && { name: 'of', label: 'Of', choices: OWNERS },
  ];
  const onValues = ({ of: owner, ...changed }: Values) => {
    if (owner) change(owner === 'all' ? { all: true, by: 'account' } : { all: false, by: 'model' });
    // A day or a name that is emptied is not given yet.
    else if (Object.values(changed).every(Boolean)) change(changed as Partial<Question>);
  };
  return (
    <FilterFields
      fields={fields.filter((field) => field !== false)}
      values={{ from, to, by, tag, of: all ? 'all' : 'own' }}
      onValues={onValues}
    >
      <div class="row whole gap-s presets">
        {PRESETS.map((count) => {
          const period = lastDays(count, now);
          const isChosen = period.from === from && period.to === to;
          return (
            <Button
              key={count}
              kind={isChosen ? 'plain' : 'quiet'}
              aria-pressed={isChosen}
              onClick={() => change(period)}
            >
              {count} days
            </Button>
          );
        })}
      </div>
    </FilterFields>
  );
}

interface SummaryProps {
  readonly rows: readonly UsageRow[];
  readonly question: Question;
}

function Summary({ rows, question }: SummaryProps) {
  const [measure, setMeasure] = useState<Measure>('credits');
  const { from, to, by } = question;
  // Too many parts for a report leave the bars of days whole.
  const parts = useJson<UsageList>(
    pathOf(question, by === 'day' ? by : `day,${dimensionOf(question)}`),
  );
  const isStacked = parts.data && !parts.error && !parts.isLoading;
  const stack = isStacked ? parts.data!.data : rows;
  const { times, series } = useMemo(
    () => seriesOf(stack, { from, to }, measure, isStacked ? by : 'day'),
    [stack, from, to, measure, by],
  );
  return (
    <>
      <Sums sums={sumOf(rows)} />
      <section class="card" aria-label="By day">
        <div class="row">
          <h2>By day</h2>
          <div class="end">
            <SelectField
              label="Show"
              value={measure}
              choices={Object.entries(MEASURES)}
              onValue={(chosen) => setMeasure(chosen as Measure)}
            />
          </div>
        </div>
        <Chart
          label={MEASURES[measure]}
          times={times}
          series={series}
          format={formatCredits}
          tickName={formatShortDay}
          timeName={formatDate}
        />
      </section>
    </>
  );
}

function Sums({ sums }: { readonly sums: UsageSums }) {
  const share = cachedShare(sums);
  return (
    <Figures
      figures={[
        ['Cost', formatRoundCredits(sums.credits), 'credits'],
        [
          'Requests',
          formatNumber(sums.requests),
          sums.errors > 0 && `and ${formatNumber(sums.errors)} with errors`,
        ],
        [
          'Input tokens',
          formatNumber(sums.input_tokens),
          share !== null && share > 0 && `${formatPercent(share)} from caches`,
        ],
        ['Output tokens', formatNumber(sums.output_tokens)],
        ['Files made', formatNumber(sums.outputs)],
      ]}
    />
  );
}

function Parts({ rows, by }: { readonly rows: readonly UsageRow[]; readonly by: Dimension }) {
  const sorted =
    by === 'day'
      ? rows.toReversed()
      : rows.toSorted((a, b) => b.credits - a.credits || b.requests - a.requests);
  return (
    <Table
      caption={`Usage by ${DIMENSIONS[by].toLowerCase()}`}
      rows={sorted}
      keyOf={(row) =>
        [row.account_id, row.key_id, row.team_id, row.model, row.day, rowName(row, by)].join(' ')
      }
      columns={[
        [DIMENSIONS[by], (row) => (by === 'day' ? formatDay(row.day!) : rowName(row, by)), 'wide'],
        ['Requests', (row) => formatNumber(row.requests), 'number'],
        ['Errors', (row) => formatNumber(row.errors), 'number'],
        ['Input tokens', (row) => formatNumber(row.input_tokens), 'number'],
        ['Cached', cachedText, 'number'],
        ['Output tokens', (row) => formatNumber(row.output_tokens), 'number'],
        ['Files', (row) => formatNumber(row.outputs), 'number'],
        ['Credits', (row) => formatCredits(row.credits), 'number'],
      ]}
    />
  );
}

function cachedText(row: UsageRow): string {
  const share = cachedShare(row);
  return share === null ? '' : formatPercent(share);
}
