import { useState } from 'preact/hooks';
import type { OwnerRequestRecord } from '../../../http/routes/requests.ts';
import { sendJson } from '../../api/request.ts';
import { useRefresh, useResource } from '../../api/resource.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Checkbox, SelectField, TextField } from '../../components/field.tsx';
import {
  formatCredits,
  formatDuration,
  formatNumber,
  formatTime,
} from '../../components/format.ts';
import { open, type ViewProps } from '../../components/navigation.tsx';
import { FromProgram } from '../../components/snippets.tsx';
import { Empty, Loaded } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';
import { FILTERS, pathOf, placeOf } from './recent.ts';
import { RequestFacts } from './request-facts.tsx';

const REFRESH_MS = 5000;

const FILTER_LABELS = { account: 'Account', key: 'Key id', model: 'Model' } as const;

/** The requests that ended last, of all accounts, for the owner. */
export default function Requests({ place }: ViewProps) {
  const filters = Object.fromEntries(FILTERS.map((name) => [name, place.query.get(name) ?? '']));
  const path = pathOf(filters);
  const [shown, setShown] = useState<OwnerRequestRecord>();
  const list = useResource(
    (signal) => sendJson<{ data: readonly OwnerRequestRecord[] }>(path, { signal }),
    [path],
  );
  useRefresh(list.reload, REFRESH_MS);
  const change = (name: string, value: string) =>
    open(placeOf({ ...filters, [name]: value }), { replace: true });
  return (
    <>
      <h1>Requests</h1>
      <p class="muted">
        What ended since the start of the server, at most 1,000 requests, without their bodies.
      </p>
      <fieldset class="filters">
        <legend class="hidden">What is shown</legend>
        <SelectField
          label="Status"
          value={filters['status']!}
          choices={[
            ['', 'All'],
            ['2xx', 'Succeeded'],
            ['4xx', 'Refused'],
            ['5xx', 'Failed'],
          ]}
          onValue={(value) => change('status', value)}
        />
        {Object.entries(FILTER_LABELS).map(([name, label]) => (
          <TextField
            key={name}
            label={label}
            value={filters[name]!}
            placeholder="All"
            onValue={(value) => change(name, value.trim())}
          />
        ))}
        <Checkbox
          label="With sign-ins"
          checked={filters['sign_ins'] === 'true'}
          onChecked={(checked) => change('sign_ins', checked ? 'true' : '')}
        />
      </fieldset>
      <Loaded resource={list}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No requests here" />
          ) : (
            <RequestTable requests={data} show={setShown} />
          )
        }
      </Loaded>
      <FromProgram what="This list" request={{ method: 'GET', path }} />
      {shown && (
        <Dialog title={`Request ${shown.id}`} onClose={() => setShown(undefined)}>
          <RequestFacts request={shown} />
        </Dialog>
      )}
    </>
  );
}

interface RequestTableProps {
  readonly requests: readonly OwnerRequestRecord[];
  readonly show: (request: OwnerRequestRecord) => void;
}

function RequestTable({ requests, show }: RequestTableProps) {
  return (
    <Table
      caption="Requests, newest first"
      rows={requests}
      keyOf={({ number }) => number}
      columns={[
        {
          title: 'Ended',
          cell: (request) => (
            <Button
              kind="quiet"
              aria-label={`${formatTime(request.ended)}, details of ${request.id}`}
              onClick={() => show(request)}
            >
              {formatTime(request.ended)}
            </Button>
          ),
        },
        { title: 'Status', cell: Status },
        {
          title: 'Account',
          cell: ({ account, key }) => account && `${account.name} · ${key?.name}`,
        },
        { title: 'Model', cell: ({ model, route }) => model ?? <span class="muted">{route}</span> },
        { title: 'Provider', cell: ({ provider }) => provider },
        {
          title: 'Took',
          isNumber: true,
          cell: ({ latency_ms: latency }) => formatDuration(latency),
        },
        {
          title: 'Tokens in, out',
          isNumber: true,
          cell: ({ input_tokens: input, output_tokens: output }) =>
            input !== null && `${formatNumber(input)}, ${formatNumber(output ?? 0)}`,
        },
        {
          title: 'Credits',
          isNumber: true,
          cell: ({ credits }) => credits !== null && formatCredits(credits),
        },
      ]}
    />
  );
}

function Status({ status, error }: OwnerRequestRecord) {
  const tone = status >= 500 ? 'bad' : status >= 400 ? 'warn' : error ? 'bad' : 'good';
  return (
    <>
      <span class={`badge ${tone}`}>{status}</span>{' '}
      {error && <code>{error.code ?? error.type}</code>}
    </>
  );
}
