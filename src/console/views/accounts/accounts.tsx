import { useEffect } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { ListFilters } from '../../components/form-fields.tsx';
import { formatCredits } from '../../components/format.ts';
import { PagedTable } from '../../components/list.tsx';
import { open, type ViewProps } from '../../components/navigation.tsx';
import { FromProgram } from '../../components/snippets.tsx';
import { Empty } from '../../components/states.tsx';
import { changeOfKey, grantTo, newAccount, newKey, planOf, revokeOf } from './actions.ts';
import { ActionButtons, Limits, useActions } from './limits.tsx';
import { type Key, namesOf, useHolders } from './lists.ts';

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
      <PagedTable
        list={accounts}
        caption="Accounts"
        more="Show more accounts"
        empty={null}
        keyOf={({ id }) => id}
        columns={[
          ['Account', ({ name }) => name],
          ['Plan', ({ plan }) => <span class="badge">{plan}</span>],
          ['Available', ({ credits }) => formatCredits(credits.available), 'number'],
          ['Reserved', ({ credits }) => formatCredits(credits.reserved), 'number'],
          ['Spent', ({ credits }) => formatCredits(credits.spent), 'number'],
          [
            'Change',
            (account) => (
              <ActionButtons
                act={act}
                actions={[
                  ['Grant credits', grantTo(account)],
                  ['Plan', planOf(account)],
                ]}
              />
            ),
          ],
        ]}
      />
      <div class="row">
        <h2>API keys</h2>
        <Button onClick={() => act(newKey(names, chosen))}>New key</Button>
      </div>
      <ListFilters
        view="accounts"
        legend="Which keys are shown"
        fields={[
          {
            ...{ name: 'account', label: 'Keys of', kind: 'late', placeholder: 'All accounts' },
            ...(names && { choices: [['', 'All accounts'], ...names] }),
          },
        ]}
        values={{ account: chosen }}
      />
      <PagedTable
        list={keys}
        caption="API keys"
        more="Show more keys"
        empty={
          <Empty title="No keys">
            <p>A program needs an API key to use the models of this server.</p>
          </Empty>
        }
        keyOf={({ id }) => id}
        columns={[
          ['Key', KeyName],
          ['State', KeyState],
          ['Account', ({ account, team }) => (team ? `${account} · ${team}` : account)],
          ['Limits', Limits, 'wide'],
          [
            'Change',
            (key) =>
              key.status === 'active' && (
                <ActionButtons
                  act={act}
                  name={`${key.name} ${key.hint}`}
                  actions={[
                    ['Change', changeOfKey(key)],
                    ['Revoke', revokeOf(key)],
                  ]}
                />
              ),
          ],
        ]}
      />
      <FromProgram what="This page" request={{ method: 'GET', path: keys.path }} />
      {dialogs}
    </>
  );
}

function KeyName({ name, hint }: Key) {
  return (
    <>
      {name || <span class="muted">unnamed</span>} <code class="muted">{hint}</code>
    </>
  );
}

function KeyState({ status }: Key) {
  return <span class={`badge ${status === 'active' ? 'good' : 'warn'}`}>{status}</span>;
}
