import { useEffect } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { placeOf } from '../../components/filters.ts';
import { FilterFields } from '../../components/form-fields.tsx';
import { formatCredits } from '../../components/format.ts';
import { OlderButton } from '../../components/list.tsx';
import { open, type ViewProps } from '../../components/navigation.tsx';
import { FromProgram } from '../../components/snippets.tsx';
import { Empty, Loaded } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';
import { changeOf, grantTo, newAccount, newKey, planOf, revokeOf } from './actions.ts';
import { type Act, ActionButton, Limits, useActions } from './limits.tsx';
import { type Account, type Key, namesOf, useHolders } from './lists.ts';

/** Accounts with their credits, and API keys, for the owner. */
export default function Accounts({ place, session }: ViewProps) {
  const chosen = place.query.get('account') ?? '';
  const accounts = useHolders('accounts');
  const keys = useHolders('keys', chosen);
  const names = namesOf(accounts);
  const { act, dialogs } = useActions(() => {
    accounts.reload();
    keys.reload();
  });
  useEffect(() => {
    if (place.query.get('new') !== 'key') return;
    act(newKey(undefined, session.account.name));
    open('accounts', { replace: true });
  }, [place.query]);
  return (
    <>
      <h1>Accounts & keys</h1>
      <div class="row">
        <h2>Accounts</h2>
        <Button onClick={() => act(newAccount)}>New account</Button>
      </div>
      <Loaded resource={accounts}>
        {() => <AccountTable accounts={accounts.items} act={act} />}
      </Loaded>
      <OlderButton older={accounts.older} hasMore={accounts.hasMore}>
        Show more accounts
      </OlderButton>
      <div class="row">
        <h2>API keys</h2>
        <Button onClick={() => act(newKey(names, chosen))}>New key</Button>
      </div>
      <FilterFields
        legend="Which keys are shown"
        fields={[
          {
            ...{ name: 'account', label: 'Keys of', kind: 'late', placeholder: 'All accounts' },
            ...(names && { choices: [['', 'All accounts'], ...names] }),
          },
        ]}
        values={{ account: chosen }}
        onValues={(filters) => open(placeOf('accounts', filters), { replace: true })}
      />
      <Loaded resource={keys}>{() => <KeyTable keys={keys.items} act={act} />}</Loaded>
      <OlderButton older={keys.older} hasMore={keys.hasMore}>
        Show more keys
      </OlderButton>
      <FromProgram what="This page" request={{ method: 'GET', path: keys.path }} />
      {dialogs}
    </>
  );
}

interface TableProps {
  readonly act: Act;
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
        ['Limits', Limits, 'wide'],
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
