import { Button } from '../../components/button.tsx';
import { formatCredits, formatNumber, formatTime } from '../../components/format.ts';
import { Empty } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';
import type { Action } from './action-dialog.tsx';
import { changeOf, grantTo, planOf, revokeOf } from './actions.ts';
import type { Account, Key } from './pages.tsx';

interface AccountTableProps {
  readonly accounts: readonly Account[];
  readonly act: (action: Action) => void;
}

export function AccountTable({ accounts, act }: AccountTableProps) {
  return (
    <Table
      caption="Accounts"
      rows={accounts}
      keyOf={({ id }) => id}
      columns={[
        { title: 'Account', cell: ({ name }) => name },
        { title: 'Plan', cell: ({ plan }) => <span class="badge">{plan}</span> },
        {
          title: 'Available',
          isNumber: true,
          cell: ({ credits }) => formatCredits(credits.available),
        },
        {
          title: 'Reserved',
          isNumber: true,
          cell: ({ credits }) => formatCredits(credits.reserved),
        },
        { title: 'Spent', isNumber: true, cell: ({ credits }) => formatCredits(credits.spent) },
        {
          title: 'Change',
          cell: (account) => (
            <div class="row">
              <Button
                kind="quiet"
                aria-label={`Grant credits to ${account.name}`}
                onClick={() => act(grantTo(account))}
              >
                Grant credits
              </Button>
              <Button
                kind="quiet"
                aria-label={`Plan of ${account.name}`}
                onClick={() => act(planOf(account))}
              >
                Plan
              </Button>
            </div>
          ),
        },
      ]}
    />
  );
}

interface KeyTableProps {
  readonly keys: readonly Key[];
  readonly act: (action: Action) => void;
}

export function KeyTable({ keys, act }: KeyTableProps) {
  if (keys.length === 0) {
    return (
      <Empty title="No keys">
        <p>A program needs an API key to use the models of this server.</p>
      </Empty>
    );
  }
  return (
    <Table
      caption="API keys"
      rows={keys}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'Key',
          cell: ({ name, hint }) => (
            <>
              {name || <span class="muted">unnamed</span>} <code class="muted">{hint}</code>
            </>
          ),
        },
        {
          title: 'State',
          cell: ({ status }) => (
            <span class={`badge ${status === 'active' ? 'good' : 'warn'}`}>{status}</span>
          ),
        },
        {
          title: 'Account',
          cell: ({ account, team }) => (team ? `${account} · ${team}` : account),
        },
        { title: 'Limits', cell: Limits },
        {
          title: 'Change',
          cell: (key) =>
            key.status === 'active' && (
              <div class="row">
                <Button
                  kind="quiet"
                  aria-label={`Change ${key.name} ${key.hint}`}
                  onClick={() => act(changeOf(key))}
                >
                  Change
                </Button>
                <Button
                  kind="quiet"
                  aria-label={`Revoke ${key.name} ${key.hint}`}
                  onClick={() => act(revokeOf(key))}
                >
                  Revoke
                </Button>
              </div>
            ),
        },
      ]}
    />
  );
}

/** What a key may do and spend. */
function Limits({ models, budget, windows, rpm, expires_at: expires }: Key) {
  const budgets = [
    ...(budget ? [{ ...budget, period: 'in all' }] : []),
    ...windows.map((window) => ({ ...window, period: `a ${window.period}` })),
  ];
  return (
    <span class="facts">
      {models && <span>{models.join(', ') || 'no models'}</span>}
      {budgets.map(({ period, spent, granted }) => (
        <span key={period}>
          {formatCredits(spent)} of {formatCredits(granted)} {period}
        </span>
      ))}
      {rpm !== null && <span>{formatNumber(rpm)} requests a minute</span>}
      {expires && <span>until {formatTime(Date.parse(expires) / 1000)}</span>}
    </span>
  );
}
