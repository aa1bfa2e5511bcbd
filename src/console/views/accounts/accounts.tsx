import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Code } from '../../components/copy.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { LateField, SelectField } from '../../components/field.tsx';
import { open, type ViewProps } from '../../components/navigation.tsx';
import { FromProgram } from '../../components/snippets.tsx';
import { Loaded } from '../../components/states.tsx';
import { showToast } from '../../components/toast.tsx';
import { type Action, ActionDialog } from './action-dialog.tsx';
import { newAccount, newKey } from './actions.ts';
import { type Account, type Key, type Outcome, PageButtons, usePages } from './pages.tsx';
import { AccountTable, KeyTable } from './tables.tsx';

/** Accounts with their credits, and API keys, for the owner. */
export default function Accounts({ place }: ViewProps) {
  const chosen = place.query.get('account') ?? '';
  const [action, setAction] = useState<Action>();
  const [made, setMade] = useState<string>();
  const accounts = usePages<{ readonly accounts: readonly Account[] }>('accounts/list');
  const keys = usePages<{ readonly keys: readonly Key[] }>('keys/list', chosen);
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

/** A key that was made, which the server keeps nowhere. */
function NewKey({ text, onClose }: { readonly text: string; readonly onClose: () => void }) {
  return (
    <Dialog title="The new key" onClose={onClose}>
      <div class="stack">
        <p>It is shown this once: the server keeps only a hash of it. Copy it now.</p>
        <Code label="API key" text={text} />
        <p>
          <Button kind="primary" onClick={onClose}>
            I have copied it
          </Button>
        </p>
      </div>
    </Dialog>
  );
}
