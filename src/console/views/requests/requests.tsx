import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { OwnerRequestRecord } from '../../../administration/request-records.ts';
import { useJson, useRefresh } from '../../api/resource.ts';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Checkbox, SelectField, TextField } from '../../components/field.tsx';
import {
  formatCredits,
  formatDuration,
  formatNumber,
  formatTime,
} from '../../components/format.ts';
import { Link, open, type ViewProps } from '../../components/navigation.tsx';
import { FromProgram } from '../../components/snippets.tsx';
import { Empty, Loaded } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';

const REFRESH_MS = 5000;

const FILTER_LABELS = { account: 'Account', key: 'Key id', model: 'Model' } as const;

/** The requests that ended last, of all accounts, for the owner. */
export default function Requests({ place }: ViewProps) {
  const filters = Object.fromEntries(FILTERS.map((name) => [name, place.query.get(name) ?? '']));
  const path = pathOf(filters);
  const [shown, setShown] = useState<OwnerRequestRecord>();
  const list = useJson<{ data: readonly OwnerRequestRecord[] }>(path);
  useRefresh(list.reload, REFRESH_MS);
  const change = (name: string, value: string) =>
    open(placeOf({ ...filters, [name]: value }), { replace: true });
  return (
    <>
      <h1>Requests</h1>
      <p class="muted">Requests since the server started, at most 1,000, without their bodies.</p>
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
        [
          'Ended',
          (request) => (
            <Button
              kind="quiet"
              aria-label={`${formatTime(request.ended)}, details of ${request.id}`}
              onClick={() => show(request)}
            >
              {formatTime(request.ended)}
            </Button>
          ),
        ],
        ['Status', Status],
        ['Account', ({ account, key }) => account && `${account.name} · ${key?.name}`],
        ['Model', ({ model, route }) => model ?? <span class="muted">{route}</span>],
        ['Provider', ({ provider }) => provider],
        ['Took', ({ latency_ms: latency }) => formatDuration(latency), 'number'],
        [
          'Tokens in, out',
          ({ input_tokens: input, output_tokens: output }) =>
            input !== null && `${formatNumber(input)}, ${formatNumber(output ?? 0)}`,
          'number',
        ],
        ['Credits', ({ credits }) => credits !== null && formatCredits(credits), 'number'],
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

/** Parameters of the address and of the server's list. */
const FILTERS = ['status', 'account', 'key', 'model', 'sign_ins'] as const;

type Filters = Readonly<Record<string, string>>;

const LIMIT = '100';

function queryOf(filters: Filters): URLSearchParams {
  return new URLSearchParams(
    FILTERS.flatMap((name) => (filters[name] ? [[name, filters[name]]] : [])),
  );
}

/** The place of filters within the console. */
function placeOf(filters: Filters): string {
  const query = queryOf(filters);
  return query.size === 0 ? 'requests' : `requests?${query}`;
}

/** Path of the list on the server. */
function pathOf(filters: Filters): string {
  const query = queryOf(filters);
  query.set('limit', LIMIT);
  // Each opening of the console in a browser would be among them.
  if (!query.has('sign_ins')) query.set('sign_ins', 'false');
  return `v1/admin/requests?${query}`;
}

/** Everything that is known of a request. */
function RequestFacts({ request }: { readonly request: OwnerRequestRecord }) {
  const {
    id,
    error,
    account,
    key,
    provider,
    upstream_model: upstreamModel,
    task_id: task,
  } = request;
  const number = (value: number | null) => value !== null && formatNumber(value);
  const time = (value: number | null) => value !== null && formatDuration(value);
  const facts: readonly (readonly [title: string, value: ComponentChildren])[] = [
    ['Endpoint', `${request.method} ${request.route}`],
    ['Ended', formatTime(request.ended)],
    ['Status', String(request.status)],
    ['Error', error && <code>{error.code ?? error.type}</code>],
    ['Account', account?.name],
    ['Key', key && `${key.name} (${key.id})`],
    ['Model', request.model],
    ['Provider', provider && `${provider}${upstreamModel ? `, ${upstreamModel}` : ''}`],
    ['Attempts', number(request.attempts)],
    ['Took', time(request.latency_ms)],
    ['First token after', time(request.first_token_ms)],
    ['Input tokens', number(request.input_tokens)],
    ['of them from caches', number(request.cached_input_tokens)],
    ['Output tokens', number(request.output_tokens)],
    ['Credits', request.credits !== null && formatCredits(request.credits)],
    ['Task', task && <Link to={`tasks/${encodeURIComponent(task)}`}>{task}</Link>],
  ];
  return (
    <div class="stack">
      <div class="table">
        <table>
          <tbody>
            {facts.map(
              ([title, value]) =>
                value && (
                  <tr key={title}>
                    <th scope="row">{title}</th>
                    <td>{value}</td>
                  </tr>
                ),
            )}
          </tbody>
        </table>
      </div>
      <p class="row">
        <code>{id}</code>
        <CopyButton text={id} label="request id" />
        <span class="muted">finds it in the log of the server</span>
      </p>
    </div>
  );
}
