import { Button } from '../../components/button.tsx';
import { formatCredits, formatNumber, formatTime } from '../../components/format.ts';
import { Empty } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';
import type { Action } from './action-dialog.tsx';
import { changeOf, grantTo, planOf, revokeOf } from './actions.ts';
import type { Account, Key } from './pages.tsx';

interface TableProps {
  readonly act: (action: Action) => void;
}

export function AccountTable({
  accounts,
  act,
}: TableProps & { readonly accounts: readonly Account[] }) {
  return (
    <Table
      caption="Accounts"
      rows={accounts}
      keyOf={({ id }) => id}
      columns={[
        ['Account', ({ name }) => name],
        ['Plan', ({ plan }) => <span class="badge">{plan}</span>],
        ['Available', ({ credits }) => formatCredits(credits.available), 'number'],
        ['Reserved', ({ credits }) => formatCredits(credits.reserved), 'number'],
        ['Spent', ({ credits }) => formatCredits(credits.spent), 'number'],
        [
          'Change',
          (account) => {
            const [grant, plan] = [grantTo(account), planOf(account)];
            return (
              <div class="row">
                <ActionButton text="Grant credits" label={grant.title} action={grant} act={act} />
                <ActionButton text="Plan" label={plan.title} action={plan} act={act} />
              </div>
            );
          },
        ],
      ]}
    />
  );
}

interface ActionButtonProps extends TableProps {
  readonly text: string;
  /** What screen readers read: the text and what is changed. */
  readonly label: string;
  readonly action: Action;
}

function ActionButton({ text, label, action, act }: ActionButtonProps) {
  return (
    <Button kind="quiet" aria-label={label} onClick={() => act(action)}>
      {text}
    </Button>
  );
}

export function KeyTable({ keys, act }: TableProps & { readonly keys: readonly Key[] }) {
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
        [
          'Key',
          ({ name, hint }) => (
            <>
              {name || <span class="muted">unnamed</span>} <code class="muted">{hint}</code>
            </>
          ),
        ],
        [
          'State',
          ({ status }) => (
            <span class={`badge ${status === 'active' ? 'good' : 'warn'}`}>{status}</span>
          ),
        ],
        ['Account', ({ account, team }) => (team ? `${account} · ${team}` : account)],
        ['Limits', Limits],
        [
          'Change',
          (key) => {
            const name = `${key.name} ${key.hint}`;
            return (
              key.status === 'active' && (
                <div class="row">
                  <ActionButton
                    text="Change"
                    label={`Change ${name}`}
                    action={changeOf(key)}
                    act={act}
                  />
                  <ActionButton
                    text="Revoke"
                    label={`Revoke ${name}`}
                    action={revokeOf(key)}
                    act={act}
                  />
                </div>
              )
            );
          },
        ],
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
