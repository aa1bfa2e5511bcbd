import { useState } from 'preact/hooks';
import { SERVER } from '../../api/request.ts';
import { type Model, useModels, useResource } from '../../api/resource.ts';
import type { Session } from '../../api/session.ts';
import { TextField } from '../../components/field.tsx';
import { formatNumber } from '../../components/format.ts';
import { open, type ViewProps } from '../../components/navigation.tsx';
import { Empty, Loaded, Loading } from '../../components/states.tsx';
import { type Endpoint, type EndpointGroups, loadGroups } from './document.ts';
import { EndpointView } from './endpoint.tsx';

/** The OpenAPI document: every endpoint with its fields, and an example to copy and to send. */
export default function Api(props: Omit<GroupsProps, 'groups' | 'models'>) {
  const groups = useResource(loadGroups, []);
  return (
    <>
      <h1>API</h1>
      <p class="lead">
        Every endpoint takes <code>Authorization: Bearer KEY</code>, and every error is{' '}
        <code>{'{"error": {type, message, param, code}}'}</code>. For programs:{' '}
        <a href={new URL('openapi.json', SERVER).href}>openapi.json</a>.
      </p>
      {groups.error?.status === 404 ? (
        <Empty title="The description of the API is not on this address">
          <p>
            <code>server.operations</code> gives it a listener of its own.
          </p>
        </Empty>
      ) : (
        <Loaded resource={groups}>
          {(loaded) =>
            props.session ? (
              <WithModels {...props} groups={loaded} />
            ) : (
              <Groups {...props} groups={loaded} models={[]} />
            )
          }
        </Loaded>
      )}
    </>
  );
}

interface GroupsProps extends Omit<ViewProps, 'session'> {
  readonly groups: EndpointGroups;
  readonly session: Session | null;
  readonly models: readonly Model[];
}

function WithModels(props: Omit<GroupsProps, 'models'>) {
  const { data, error } = useModels();
  // Examples name models: they are complete before the reader can change them.
  if (data === undefined && error === undefined) return <Loading />;
  return <Groups {...props} models={data ?? []} />;
}

function Groups({ groups, place, session, models }: GroupsProps) {
  const [filter, setFilter] = useState('');
  const words = filter.toLowerCase().split(/\s+/);
  const matches = ({ method, path, summary }: Endpoint) => {
    const text = `${method} ${path} ${summary}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  const found = groups
    .map(({ title, endpoints }) => ({ title, endpoints: endpoints.filter(matches) }))
    .filter(({ endpoints }) => endpoints.length > 0);
  const count = found.reduce((sum, { endpoints }) => sum + endpoints.length, 0);
  return (
    <>
      <TextField
        label="Find an endpoint"
        type="search"
        value={filter}
        onValue={setFilter}
        placeholder="resize, chat, tasks"
      />
      {filter !== '' && (
        <p class="muted" role="status">
          {count === 1 ? '1 endpoint' : `${formatNumber(count)} endpoints`}
        </p>
      )}
      {count === 0 && <Empty title="No endpoint matches these words" />}
      {found.map(({ title, endpoints }) => (
        <section key={title} aria-labelledby={`group-${title}`}>
          <h2 id={`group-${title}`}>{title}</h2>
          <div class="panel endpoints">
            {endpoints.map((endpoint) => (
              <EndpointView
                key={endpoint.place}
                endpoint={endpoint}
                isOpen={place.rest === endpoint.place}
                onToggle={(isOpen) =>
                  open(isOpen ? `api/${endpoint.place}` : 'api', { replace: true })
                }
                session={session}
                models={models}
              />
            ))}
          </div>
        </section>
      ))}
    </>
  );
}
