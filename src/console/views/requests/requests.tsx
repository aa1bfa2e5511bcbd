import { useState } from 'preact/hooks';
import type { RequestRecord } from '../../../store/requests/record.ts';
import { useList } from '../../api/list.ts';
import { Button } from '../../components/button.tsx';
import { Checkbox } from '../../components/field.tsx';
import { filtersOf } from '../../components/form-field.ts';
import { ListFilters } from '../../components/form-fields.tsx';
import {
  formatCredits,
  formatDuration,
  formatNumber,
  formatSpan,
  formatTime,
} from '../../components/format.ts';
import { PagedTable } from '../../components/list.tsx';
import type { ViewProps } from '../../components/navigation.tsx';
import { FromProgram } from '../../components/snippets.tsx';
import { Empty } from '../../components/states.tsx';
import { FILTERS, pathOf } from './filters.ts';
import { RequestDetail } from './request-detail.tsx';

/** The requests of all accounts, for the owner. */
export default function Requests({ place }: ViewProps) {
  const filters = filtersOf(FILTERS, place.query);
  const path = pathOf(filters);
  const [isLive, setLive] = useState(true);
  return (
    <>
      <h1>Requests</h1>
      <ListFilters view="requests" fields={FILTERS} values={filters}>
        <Checkbox label="Live" checked={isLive} onChecked={setLive} />
      </ListFilters>
      <RequestList key={path} path={path} events={isLive ? pathOf(filters, '/events') : null} />
      <FromProgram what="This list" request={{ method: 'GET', path }} />
    </>
  );
}

interface Page {
  readonly data: readonly RequestRecord[];
  readonly next: number | null;
}

interface RequestListProps {
  readonly path: string;
  /** Path of new requests; null where the list stays as it is. */
  readonly events: string | null;
}

function RequestList({ path, events }: RequestListProps) {
  const [shown, setShown] = useState<RequestRecord>();
  const list = useList(path, {
    pageOf: ({ data, next }: Page) => ({ items: data, next }),
    idOf: ({ number }) => number,
    events: [events, 'request'],
  });
  return (
    <>
      <PagedTable
        list={list}
        caption="Requests, newest first"
        more="Show older requests"
        empty={<Empty title="No requests here" />}
        keyOf={({ number }) => number}
        columns={[
          ['Ended', (request) => <Ended request={request} onShow={() => setShown(request)} />],
          ['Status', Status],
          ['Account', ({ account, key }) => account && `${account.name} · ${key?.name}`],
          ['Model', ({ model, route }) => model ?? <span class="muted">{route}</span>, 'wide'],
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
      {shown && <RequestDetail request={shown} onClose={() => setShown(undefined)} />}
    </>
  );
}

interface EndedProps {
  readonly request: RequestRecord;
  readonly onShow: () => void;
}

function Ended({ request: { id, ended }, onShow }: EndedProps) {
  const text = formatSpan(ended - Date.now() / 1000);
  return (
    <Button kind="quiet" aria-label={`${text}, details of ${id}`} onClick={onShow}>
      <time title={formatTime(ended)}>{text}</time>
    </Button>
  );
}

function Status({ status, error }: RequestRecord) {
  const tone = status >= 500 ? 'bad' : status >= 400 ? 'warn' : error ? 'bad' : 'good';
  return (
    <>
      <span class={`badge ${tone}`}>{status}</span>{' '}
      {error && <code title={error.message}>{error.code ?? error.type}</code>}
    </>
  );
}
