import { useState } from 'preact/hooks';
import { SERVER } from '../../api/request.ts';
import { loadModels, type Model, useResource } from '../../api/resource.ts';
import type { Session } from '../../api/session.ts';
import { TextField } from '../../components/field.tsx';
import { formatNumber } from '../../components/format.ts';
import { open, type ViewProps } from '../../components/navigation.tsx';
import { Empty, Loaded, Loading } from '../../components/states.tsx';
import { type Endpoint, type EndpointGroups, loadGroups } from './document.ts';
import { EndpointView } from './endpoint.tsx';

interface ApiProps extends Omit<ViewProps, 'session'> {
  readonly session: Session | null;
}

/** The OpenAPI document: every endpoint with its fields, and an example to copy and to send. */
export default function Api({ place, session }: ApiProps) {
  const groups = useResource(loadGroups, []);
  // Examples name models: they are complete before the reader can change them.
  const models = useResource(async (signal) => (session ? loadModels(signal) : []), []);
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
            models.isLoading ? (
              <Loading />
            ) : (
              <Groups {...{ place, session }} groups={loaded} models={models.data ?? []} />
            )
          }
        </Loaded>
      )}
    </>
  );
}

interface GroupsProps extends ApiProps {
  readonly groups: EndpointGroups;
  readonly models: readonly Model[];
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
