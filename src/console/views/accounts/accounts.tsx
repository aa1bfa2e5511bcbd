import { useEffect, useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { SelectField } from '../../components/field.tsx';
import { formatCredits, formatNumber, formatTime } from '../../components/format.ts';
import { LateField } from '../../components/list.tsx';
import { open, type ViewProps } from '../../components/navigation.tsx';
import { FromProgram } from '../../components/snippets.tsx';
import { Empty, Loaded } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';
import { showToast } from '../../components/toast.tsx';
import { type Action, ActionDialog, NewKey } from './action-dialog.tsx';
import { changeOf, grantTo, newAccount, newKey, planOf, revokeOf } from './actions.ts';
import { type Account, type Key, type Outcome, PageButtons, usePages } from './pages.tsx';

/** Accounts with their credits, and API keys, for the owner. */
export default function Accounts({ place, session }: ViewProps) {
  const chosen = place.query.get('account') ?? '';
  const [action, setAction] = useState<Action>();
  const [made, setMade] = useState<string>();
  const accounts = usePages<{ readonly accounts: readonly Account[] }>('accounts/list');
  const keys = usePages<{ readonly keys: readonly Key[] }>('keys/list', chosen);
  useEffect(() => {
    if (place.query.get('new') !== 'key') return;
    setAction(newKey(undefined, session.account.name));
    open('accounts', { replace: true });
  }, [place.query]);
  const done = ({ result, warnings }: Outcome<Readonly<Record<string, unknown>>>) => {
    setAction(undefined);
    const { key } = result;
    if (typeof key === 'string') setMade(key);
    else showToast(warnings[0] ?? 'Done');
    accounts.reload();
    keys.reload();
  };
  return (
    <>
      <h1>Accounts & keys</h1>
      <Loaded resource={accounts}>
        {({ result: { accounts: page, has_more: hasMore } }) => {
          // A list to choose from has all accounts, or it is a field for a name.
          const names = hasMore || accounts.back ? undefined : page.map(({ name }) => name);
          return (
            <>
              <div class="row">
                <h2>Accounts</h2>
                <Button onClick={() => setAction(newAccount)}>New account</Button>
              </div>
              <AccountTable accounts={page} act={setAction} />
              <PageButtons pages={accounts} items={page} name="accounts" />
              <div class="row">
                <h2>API keys</h2>
                <Button onClick={() => setAction(newKey(names, chosen))}>New key</Button>
              </div>
              <fieldset class="filters">
                <legend class="hidden">Which keys are shown</legend>
                {names ? (
                  <SelectField
                    label="Keys of"
                    value={chosen}
                    choices={[['', 'All accounts'], ...names]}
                    onValue={showKeysOf}
                  />
                ) : (
                  <LateField
                    key={chosen}
                    label="Keys of"
                    placeholder="All accounts"
                    value={chosen}
                    onValue={showKeysOf}
                  />
                )}
              </fieldset>
            </>
          );
        }}
      </Loaded>
      <Loaded resource={keys}>
        {({ result }) => (
          <>
            <KeyTable keys={result.keys} act={setAction} />
            <PageButtons pages={keys} items={result.keys} name="keys" />
          </>
        )}
      </Loaded>
      <FromProgram what="This page" request={{ method: 'GET', path: keys.path }} />
      {action && (
        <ActionDialog
          key={action.title}
          action={action}
          onClose={() => setAction(undefined)}
          onDone={done}
        />
      )}
      {made !== undefined && <NewKey text={made} onClose={() => setMade(undefined)} />}
    </>
  );
}

function showKeysOf(name: string): void {
  open(name ? `accounts?account=${encodeURIComponent(name)}` : 'accounts', { replace: true });
}

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
function Limits({ models, budget, windows, rpm, tpm, parallel, expires_at: expires }: Key) {
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
      {tpm !== undefined && <span>{formatNumber(tpm)} tokens a minute</span>}
      {parallel !== undefined && <span>{formatNumber(parallel)} requests at once</span>}
      {expires && <span>until {formatTime(Date.parse(expires) / 1000)}</span>}
    </span>
  );
}
