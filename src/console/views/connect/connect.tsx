import { useState } from 'preact/hooks';
import {
  type Client,
  type Connection,
  EXAMPLE,
  filled,
  readClients,
} from '../../../clients/clients.ts';
import markdown from '../../../clients/README.md';
import { SERVER } from '../../api/request.ts';
import { useModels } from '../../api/resource.ts';
import type { Session } from '../../api/session.ts';
import { Button } from '../../components/button.tsx';
import { Code } from '../../components/copy.tsx';
import { SelectField, TextField } from '../../components/field.tsx';
import { Link, type ViewProps } from '../../components/navigation.tsx';
import { Empty, Loaded } from '../../components/states.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { type Action, ActionDialog, NewKey } from '../accounts/action-dialog.tsx';
import { newKey } from '../accounts/actions.ts';
import { type Key, usePages } from '../accounts/pages.tsx';
import css from './connect.css';
import { FirstRequest } from './first-request.tsx';

export const style = css;

const CLIENTS = readClients(markdown);

const KINDS = [
  ['agent', 'Coding agents'],
  ['application', 'Applications'],
  ['library', 'SDKs and libraries'],
] as const;

/** The configuration of a client, filled in, and its first request as it arrives. */
export default function Connect({ place, session }: ViewProps) {
  const client = CLIENTS.find(({ id }) => id === (place.rest || CLIENTS[0]!.id));
  return (
    <>
      <h1>Connect</h1>
      <p>Choose a client, copy its configuration, and see its first request arrive.</p>
      <div class="connect">
        <div class="clients">
          {KINDS.map(([kind, title]) => (
            <section key={kind} aria-label={title}>
              <h2>{title}</h2>
              <ul>
                {CLIENTS.filter((one) => one.kind === kind).map(({ id, name }) => (
                  <li key={id}>
                    <Link
                      to={`connect/${id}`}
                      aria-current={id === client?.id ? 'page' : undefined}
                    >
                      {name}
                    </Link>
                  </li>
                ))}
              </ul>
            </section>
          ))}
        </div>
        {client ? (
          <Configured client={client} session={session} />
        ) : (
          <Empty title="There is no such client" />
        )}
      </div>
    </>
  );
}

function Configured({ client, session }: { readonly client: Client; readonly session: Session }) {
  const models = useModels();
  const [chosen, setChosen] = useState<Partial<Connection>>({});
  const [key, setKey] = useState({ id: session.key.id, secret: EXAMPLE.key });
  return (
    <section class="stack" aria-label={client.name}>
      <Loaded resource={models}>
        {(list) => {
          const names = list.filter(({ type, id }) => type === 'text' && !id.includes('*'));
          const { url = SERVER.href.replace(/\/$/, ''), model = names[0]?.id ?? 'YOUR_MODEL' } =
            chosen;
          const choose = (name: keyof Connection) => (value: string) =>
            setChosen({ ...chosen, [name]: value });
          return (
            <>
              <fieldset class="filters">
                <legend class="hidden">Values of the configuration</legend>
                <TextField
                  label="Address"
                  value={url}
                  onValue={choose('url')}
                  autocomplete="off"
                  spellcheck={false}
                />
                <SelectField
                  label="Model"
                  value={model}
                  choices={names.length > 0 ? names.map(({ id }) => id) : [model]}
                  onValue={choose('model')}
                />
                {session.owner && <KeyField session={session} id={key.id} onKey={setKey} />}
              </fieldset>
              {key.secret === EXAMPLE.key && (
                <p class="muted">
                  Put an API key in place of {EXAMPLE.key}: the server keeps only a hash of each.
                </p>
              )}
              <Configuration client={client} connection={{ url, model, key: key.secret }} />
            </>
          );
        }}
      </Loaded>
      <FirstRequest key={key.id} id={key.id} isOwner={session.owner} />
    </section>
  );
}

interface KeyFieldProps {
  readonly session: Session;
  readonly id: string;
  readonly onKey: (key: { readonly id: string; readonly secret: string }) => void;
}

/** The keys of all accounts, and a button that makes another one. */
function KeyField({ session, id, onKey }: KeyFieldProps) {
  const keys = usePages<{ readonly keys: readonly Key[] }>('keys/list');
  const [action, setAction] = useState<Action>();
  const [made, setMade] = useState<{ readonly id: string; readonly secret: string }>();
  const listed = keys.data?.result.keys.filter(({ status }) => status === 'active') ?? [];
  const names = new Map([
    [session.key.id, `${session.key.name} (this session)`],
    ...listed.map((one) => [one.id, `${one.name || one.id} (${one.account})`] as const),
  ]);
  return (
    <>
      <SelectField
        label="API key"
        value={id}
        choices={[...names]}
        onValue={(value) => onKey({ id: value, secret: EXAMPLE.key })}
      />
      <p>
        <Button onClick={() => setAction(newKey(undefined, session.account.name))}>New key</Button>
      </p>
      {action && (
        <ActionDialog
          action={action}
          onClose={() => setAction(undefined)}
          onDone={({ result }) => {
            setAction(undefined);
            const key = { id: String(result['id']), secret: String(result['key']) };
            setMade(key);
            onKey(key);
            keys.reload();
          }}
        />
      )}
      {made && <NewKey text={made.secret} onClose={() => setMade(undefined)} />}
    </>
  );
}

interface ConfigurationProps {
  readonly client: Client;
  readonly connection: Connection;
}

function Configuration({ client, connection }: ConfigurationProps) {
  const blocks = client.blocks.map((block) => filled(block, connection));
  return (
    <>
      <Tabs
        key={client.id}
        label={`Configuration of ${client.name}`}
        tabs={blocks.map(({ path, text }) => {
          const label = path ?? 'Terminal';
          return { label, content: () => <Code label={label} text={text} /> };
        })}
      />
      <ul class="notes">
        {client.notes.map((note) => (
          <li key={note}>
            {note.split('`').map((part, index) => (index % 2 === 1 ? <code>{part}</code> : part))}
          </li>
        ))}
        <li>
          {client.version
            ? `Version ${client.version} ran with this configuration. It speaks ${client.format}.`
            : `It speaks ${client.format}.`}
        </li>
      </ul>
    </>
  );
}
