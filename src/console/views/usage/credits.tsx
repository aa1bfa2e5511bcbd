import type { LedgerRecord } from '../../../http/routes/account/account.ts';
import { useList } from '../../api/list.ts';
import { type SessionKey, useAccount } from '../../api/resource.ts';
import { Facts } from '../../components/fact-list.tsx';
import { formatCredits, formatNumber } from '../../components/format.ts';
import { PagedTable } from '../../components/list.tsx';
import { Link } from '../../components/navigation.tsx';
import { Empty, Loaded } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';

/** What the account has, the budgets of its key, and its ledger. */
export function Credits() {
  const account = useAccount();
  return (
    <>
      <Loaded resource={account}>
        {({ credits, key }) => (
          <>
            <Facts
              facts={[
                <>
                  <strong>{formatCredits(credits.available)}</strong> available
                </>,
                `${formatCredits(credits.reserved)} reserved`,
                `${formatCredits(credits.spent)} spent`,
                `${formatCredits(credits.granted)} granted`,
              ]}
            />
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

/** The account's ledger, newest first. */
function Ledger() {
  const list = useList('v1/account/credits?limit=20', {
    pageOf: ({ data, has_more: hasMore }: Page) => ({
      items: data,
      next: hasMore ? data.at(-1)?.id : null,
    }),
    idOf: ({ id }) => id,
  });
  return (
    <PagedTable
      list={list}
      caption="Ledger, newest first"
      more="Show older entries"
      empty={<Empty title="No charges and no grants yet" />}
      keyOf={({ id }) => id}
      columns={[
        ['Time', ({ created }) => <Time at={created} />],
        ['Entry', Reason, 'wide'],
        ['Credits', ({ amount }) => formatCredits(amount), 'number'],
        ['Available', ({ available }) => formatCredits(available), 'number'],
      ]}
    />
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
            class="fill"
            aria-label={title}
            max={Math.max(granted, 1e-9)}
            value={Math.min(granted, spent + reserved)}
          />
          <span class="muted">
            {formatCredits(spent)} of {formatCredits(granted)}
            {resets !== null && (
              <>
                , resets <Time at={resets} />
              </>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}
