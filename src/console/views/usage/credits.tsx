import { useState } from 'preact/hooks';
import type { LedgerRecord } from '../../../http/routes/account/account.ts';
import { useAction } from '../../api/action.ts';
import { sendJson } from '../../api/request.ts';
import { type SessionKey, useAccount, useResource } from '../../api/resource.ts';
import { formatCredits, formatNumber, formatTime } from '../../components/format.ts';
import { OlderButton } from '../../components/list.tsx';
import { Link } from '../../components/navigation.tsx';
import { Empty, Loaded } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';

/** What the account has, the budgets of its key, and its ledger. */
export function Credits() {
  const account = useAccount();
  return (
    <>
      <Loaded resource={account}>
        {({ credits, key }) => (
          <>
            <p class="facts">
              <span>
                <strong>{formatCredits(credits.available)}</strong> available
              </span>
              <span>{formatCredits(credits.reserved)} reserved</span>
              <span>{formatCredits(credits.spent)} spent</span>
              <span>{formatCredits(credits.granted)} granted</span>
            </p>
            <Budgets accountKey={key} />
          </>
        )}
      </Loaded>
      <Ledger />
    </>
  );
}

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
function Ledger() {
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
  const older = useAction(async () => {
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
          ['Time', ({ created }) => formatTime(created)],
          ['Entry', Reason],
          ['Credits', ({ amount }) => formatCredits(amount), 'number'],
          ['Available', ({ available }) => formatCredits(available), 'number'],
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

interface Bar extends NonNullable<SessionKey['budget']> {
  readonly title: string;
  /** Seconds since the epoch. */
  readonly resets: number | null;
}

/** The budgets of a holder: one for all time, and those of days, weeks and months. */
function barsOf(owner: string, { budget, windows }: Pick<SessionKey, 'budget' | 'windows'>): Bar[] {
  return [
    ...(budget === null ? [] : [{ ...budget, title: `Budget of ${owner}`, resets: null }]),
    ...windows.map((window) => ({
      ...window,
      title: `Budget of ${owner} for a ${window.period}`,
    })),
  ];
}

/** How much of the budgets of the session's key, and of its team, is used. */
function Budgets({ accountKey }: { readonly accountKey: SessionKey }) {
  const { team } = accountKey;
  const bars = [
    ...barsOf('this key', accountKey),
    ...(team === null ? [] : barsOf(`the team ${team.name}`, team)),
  ];
  if (bars.length === 0) return null;
  return (
    <ul class="stack">
      {bars.map(({ title, granted, reserved, spent, resets }) => (
        <li key={title} class="budget">
          <span>{title}</span>
          <progress
            aria-label={title}
            max={Math.max(granted, 1e-9)}
            value={Math.min(granted, spent + reserved)}
          />
          <span class="muted">
            {formatCredits(spent)} of {formatCredits(granted)}
            {resets !== null && `, resets ${formatTime(resets)}`}
          </span>
        </li>
      ))}
    </ul>
  );
}
