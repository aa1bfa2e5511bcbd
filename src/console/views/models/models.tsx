import type { CatalogAnswer } from '../../../http/owner/models.ts';
import { sendJson } from '../../api/request.ts';
import { useRefresh, useResource } from '../../api/resource.ts';
import { formatTime } from '../../components/format.ts';
import { FromProgram } from '../../components/snippets.tsx';
import { Empty, Loaded } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';
import css from './models.css';
import { ProviderCard } from './provider-card.tsx';

export const style = css;

const PATH = 'v1/admin/models';
const REFRESH_MS = 10_000;

/** Models with their routes, and the health of providers, for the owner. */
export default function Models() {
  const catalog = useResource((signal) => sendJson<CatalogAnswer>(PATH, { signal }), []);
  useRefresh(catalog.reload, REFRESH_MS);
  return (
    <>
      <h1>Models & routes</h1>
      <Loaded resource={catalog}>
        {({ models, providers }) => (
          <>
            <h2>Providers</h2>
            <ul class="columns">
              {providers.map((provider) => (
                <li key={provider.name}>
                  <ProviderCard provider={provider} />
                </li>
              ))}
            </ul>
            <h2>Models</h2>
            {models.length === 0 ? (
              <Empty title="No models">
                <p>
                  Name models and their routes in the configuration file, under <code>models</code>.
                </p>
              </Empty>
            ) : (
              <ModelTable models={models} />
            )}
          </>
        )}
      </Loaded>
      <FromProgram what="This page" request={{ method: 'GET', path: PATH }} />
    </>
  );
}

function ModelTable({ models }: Pick<CatalogAnswer, 'models'>) {
  return (
    <Table
      caption="Models and their routes, in the order in which they are tried"
      rows={models}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'Model',
          cell: ({ id, aliases }) => (
            <>
              {id}
              {aliases.length > 0 && <span class="muted"> also {aliases.join(', ')}</span>}
            </>
          ),
        },
        { title: 'Type', cell: ({ type }) => type },
        {
          title: 'Routes',
          cell: ({ routes }) => (
            <ol class="routes">
              {routes.map(({ provider, model, resting }) => (
                <li key={`${provider} ${model}`}>
                  <span class={`badge ${resting ? 'warn' : 'good'}`}>
                    {resting ? 'resting' : 'in use'}
                  </span>{' '}
                  {provider} <span class="muted">{model}</span>
                  {resting && (
                    <span class="muted">
                      {' '}
                      until {formatTime(Date.parse(resting.until) / 1000)}: {resting.reason}
                    </span>
                  )}
                </li>
              ))}
            </ol>
          ),
        },
      ]}
    />
  );
}
