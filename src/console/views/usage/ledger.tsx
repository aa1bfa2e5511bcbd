import { useState } from 'preact/hooks';
import type { LedgerRecord } from '../../../http/routes/account.ts';
import { sendJson } from '../../api/request.ts';
import { useResource } from '../../api/resource.ts';
import { formatCredits, formatNumber, formatTime } from '../../components/format.ts';
import { Link } from '../../components/navigation.tsx';
import { OlderButton, useOlder } from '../../components/older.tsx';
import { Empty, Loaded } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';

interface Page {
  readonly data: readonly LedgerRecord[];
  readonly has_more: boolean;
}

const PAGE = 20;

function loadPage(signal?: AbortSignal, after?: number): Promise<Page> {
  const from = after === undefined ? '' : `&after=${after}`;
  return sendJson<Page>(`v1/account/credits?limit=${PAGE}${from}`, { signal });
}

/** The account's ledger, newest first. */
export function Ledger() {
  const first = useResource((signal) => loadPage(signal), []);
  return (
    <Loaded resource={first}>
      {(page) =>
        page.data.length === 0 ? (
          <Empty title="No charges and no grants yet" />
        ) : (
          <Entries first={page} />
        )
      }
    </Loaded>
  );
}

function Entries({ first }: { readonly first: Page }) {
  const [later, setLater] = useState<readonly Page[]>([]);
  const pages = [first, ...later];
  const entries = pages.flatMap(({ data }) => data);
  const older = useOlder(async () => {
    const page = await loadPage(undefined, entries.at(-1)!.id);
    setLater([...later, page]);
  });
  return (
    <>
      <Table
        caption="Ledger, newest first"
        rows={entries}
        keyOf={({ id }) => id}
        columns={[
          { title: 'Time', cell: ({ created }) => formatTime(created) },
          { title: 'Entry', cell: Reason },
          { title: 'Credits', isNumber: true, cell: ({ amount }) => formatCredits(amount) },
          { title: 'Available', isNumber: true, cell: ({ available }) => formatCredits(available) },
        ]}
      />
      <OlderButton older={older} hasMore={pages.at(-1)!.has_more}>
        Show older entries
      </OlderButton>
    </>
  );
}

/** What an entry is for. */
function Reason({ type, model, requests, task_id: task, note }: LedgerRecord) {
  return (
    <>
      <span class="badge">{type}</span> {model}{' '}
      {requests !== null && requests > 1 && (
        <span class="muted">{formatNumber(requests)} requests</span>
      )}{' '}
      {task && <Link to={`tasks/${encodeURIComponent(task)}`}>task</Link>}{' '}
      {note && <span class="muted">{note}</span>}
    </>
  );
}
