import { useState } from 'preact/hooks';
import { sendJson } from '../../api/request.ts';
import { useResource } from '../../api/resource.ts';
import { open } from '../../app/address.ts';
import type { ViewProps } from '../../app/view.ts';
import { Button } from '../../components/button.tsx';
import { Code } from '../../components/copy.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { SelectField } from '../../components/field.tsx';
import { Snippets } from '../../components/snippets.tsx';
import { Loaded } from '../../components/states.tsx';
import { showToast } from '../../components/toast.tsx';
import { AccountTable } from './account-table.tsx';
import { type Action, ActionDialog } from './action-dialog.tsx';
import { newAccount, newKey } from './actions.ts';
import { KeyTable } from './key-table.tsx';
import type { Account, Key, Outcome } from './records.ts';

/** Accounts with their credits, and API keys, for the owner. */
export default function Accounts({ place }: ViewProps) {
  const chosen = place.query.get('account') ?? '';
  const [action, setAction] = useState<Action>();
  const [made, setMade] = useState<string>();
  const accounts = useResource(
    (signal) =>
      sendJson<Outcome<{ accounts: readonly Account[] }>>('v1/admin/accounts/list', { signal }),
    [],
  );
  const keysPath = `v1/admin/keys/list${chosen && `?account=${encodeURIComponent(chosen)}`}`;
  const keys = useResource(
    (signal) => sendJson<Outcome<{ keys: readonly Key[] }>>(keysPath, { signal }),
    [keysPath],
  );
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
        {({ result: { accounts: all } }) => (
          <>
            <div class="row">
              <h2>Accounts</h2>
              <Button onClick={() => setAction(newAccount)}>New account</Button>
            </div>
            <AccountTable accounts={all} act={setAction} />
            <div class="row">
              <h2>API keys</h2>
              <Button onClick={() => setAction(newKey(all, chosen))}>New key</Button>
            </div>
            <fieldset class="filters">
              <legend class="hidden">Which keys are shown</legend>
              <SelectField
                label="Keys of"
                value={chosen}
                choices={[['', 'All accounts'], ...all.map(({ name }) => name)]}
                onValue={(name) =>
                  open(name ? `accounts?account=${encodeURIComponent(name)}` : 'accounts', {
                    replace: true,
                  })
                }
              />
            </fieldset>
          </>
        )}
      </Loaded>
      <Loaded resource={keys}>
        {({ result }) => <KeyTable keys={result.keys} act={setAction} />}
      </Loaded>
      <details>
        <summary>This page from a program</summary>
        <Snippets request={{ method: 'GET', path: keysPath }} />
      </details>
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
