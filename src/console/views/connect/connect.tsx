import { useState } from 'preact/hooks';
import { type Client, EXAMPLE, filled, readClients } from '../../../clients/clients.ts';
import markdown from '../../../clients/README.md';
import { SERVER } from '../../api/request.ts';
import { useModels } from '../../api/resource.ts';
import type { Session } from '../../api/session.ts';
import { Button } from '../../components/button.tsx';
import { Code } from '../../components/copy.tsx';
import { SelectField, TextField } from '../../components/field.tsx';
import { Link, type ViewProps } from '../../components/navigation.tsx';
import { Loaded } from '../../components/states.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { newKey } from '../accounts/actions.ts';
import { useActions } from '../accounts/limits.tsx';
import { useHolders } from '../accounts/lists.ts';
import { FirstRequest } from './first-request.tsx';

const CLIENTS = readClients(markdown);

const KINDS = [
  ['agent', 'Coding agents'],
  ['application', 'Applications'],
  ['library', 'SDKs and libraries'],
] as const;

/** The configuration of a client, filled in, and its first request as it arrives. */
export default function Connect({ place, session }: ViewProps) {
  const client = CLIENTS.find(({ id }) => id === place.rest) ?? CLIENTS[0]!;
  const models = useModels();
  return (
    <>
      <h1>Connect</h1>
      <p>Choose a client, copy its configuration, and see its first request arrive.</p>
      <div class="connect stack">
        <div class="clients">
          {KINDS.map(([kind, title]) => (
            <section key={kind} aria-label={title}>
              <h2>{title}</h2>
              <ul>
                {CLIENTS.filter((one) => one.kind === kind).map(({ id, name }) => (
                  <li key={id}>
                    <Link
                      to={`connect/${id}`}
                      class="button quiet"
                      aria-current={id === client.id ? 'page' : undefined}
                    >
                      {name}
                    </Link>
                  </li>
                ))}
              </ul>
            </section>
          ))}
        </div>
        <Loaded resource={models}>
          {(list) => {
            const names = list.filter(({ type }) => type === 'text');
            const models = names.length > 0 ? names.map(({ id }) => id) : ['YOUR_MODEL'];
            return <Configured client={client} session={session} models={models} />;
          }}
        </Loaded>
      </div>
    </>
  );
}

interface ConfiguredProps {
  readonly client: Client;
  readonly session: Session;
  readonly models: readonly string[];
}

function Configured({ client, session, models }: ConfiguredProps) {
  const [url, setUrl] = useState(SERVER.href.replace(/\/$/, ''));
  const [model, setModel] = useState(models[0]!);
  const [key, setKey] = useState({ id: session.key.id, secret: EXAMPLE.key });
  const blocks = client.blocks.map((block) => filled(block, { url, model, key: key.secret }));
  const version = client.version && `Version ${client.version} ran with this configuration. `;
  return (
    <section class="stack" aria-label={client.name}>
      <div class="columns bottom" style={{ '--least': '12rem' }}>
        <TextField label="Address" value={url} onValue={setUrl} autocomplete="off" />
        <SelectField label="Model" value={model} choices={models} onValue={setModel} />
        {session.owner && <KeyField session={session} id={key.id} onKey={setKey} />}
      </div>
      {key.secret === EXAMPLE.key && (
        <p class="muted">
          Put an API key in place of {EXAMPLE.key}: the server keeps only a hash of each.
        </p>
      )}
      <Tabs
        key={client.id}
        label={`Configuration of ${client.name}`}
        tabs={blocks.map(({ path, text }) => {
          const label = path ?? 'Terminal';
          return { label, content: () => <Code label={label} text={text} /> };
        })}
      />
      <FirstRequest key={`${client.id} ${key.id}`} id={key.id} isOwner={session.owner} />
      <ul class="notes">
        {[...client.notes, `${version ?? ''}It speaks ${client.format}.`].map((note) => (
          <li key={note}>
            {note.split('`').map((part, index) => (index % 2 === 1 ? <code>{part}</code> : part))}
          </li>
        ))}
      </ul>
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
  const keys = useHolders('keys');
  const { act, dialogs } = useActions((made) => {
    onKey({ id: String(made['id']), secret: String(made['key']) });
    keys.reload();
  });
  const listed = keys.items.filter(({ status }) => status === 'active');
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
        <Button onClick={() => act(newKey(undefined, session.account.name))}>New key</Button>
      </p>
      {dialogs}
    </>
  );
}
