import type { CatalogAnswer } from '../../../http/owner/models.ts';
import { useJson, useRefresh } from '../../api/resource.ts';
import { formatNumber, formatTime } from '../../components/format.ts';
import { FromProgram } from '../../components/snippets.tsx';
import { Empty, Loaded } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';

const PATH = 'v1/admin/models';
const REFRESH_MS = 10_000;

/** Models with their routes, and the health of providers, for the owner. */
export default function Models() {
  const catalog = useJson<CatalogAnswer>(PATH);
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
        [
          'Model',
          ({ id, aliases }) => (
            <>
              {id}
              {aliases.length > 0 && <span class="muted"> also {aliases.join(', ')}</span>}
            </>
          ),
        ],
        ['Type', ({ type }) => type],
        [
          'Routes',
          ({ routes }) => (
            <ol>
              {routes.map(({ provider, model, resting }) => (
                <li key={`${provider} ${model}`}>
                  <span class={`badge ${resting ? 'warn' : 'good'}`}>
                    {resting ? 'cooling down' : 'in use'}
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
        ],
      ]}
    />
  );
}

type Provider = CatalogAnswer['providers'][number];

/** Words and tones of states. */
const STATES: Readonly<Record<Provider['state'], readonly [label: string, tone: string]>> = {
  ok: ['working', 'good'],
  unused: ['not used yet', ''],
  failing: ['failing', 'warn'],
  wrong_key: ['wrong key', 'bad'],
  forbidden: ['key not permitted', 'bad'],
  no_credit: ['no credit left', 'bad'],
};

/** The health of one provider, and what has to be done about it. */
function ProviderCard({ provider }: { readonly provider: Provider }) {
  const { name, kind, state, problem, attempts, last_success: success, failures } = provider;
  const [label, tone] = STATES[state];
  return (
    <section class="card" aria-label={`Provider ${name}`}>
      <div class="row">
        <h3>{name}</h3>
        <span class={`badge ${tone}`}>{label}</span>
        <span class="muted end">{kind}</span>
      </div>
      {problem && (
        <div class="notice bad">
          <p>{problem}</p>
        </div>
      )}
      <p class="facts">
        <span>requests since the start: {formatNumber(attempts)}</span>
        {success !== null && <span>last answer {formatTime(success)}</span>}
        {provider.keys > 1 && <span>{formatNumber(provider.keys)} keys</span>}
      </p>
      {provider.resting_keys.map(({ key, reason, until }) => (
        <p key={key} class="facts">
          <span class="badge warn">key cooling down</span>
          <code>{key}</code>
          <span>
            until {formatTime(Date.parse(until) / 1000)}: {reason}
          </span>
        </p>
      ))}
      {failures.length > 0 && (
        <details>
          <summary>Last failures</summary>
          <ul class="stack">
            {failures.map(({ at, type, code, status, message }, index) => (
              <li key={`${at} ${index}`}>
                <p class="facts">
                  <span>{formatTime(at)}</span>
                  <code>{code ?? type}</code>
                  {status !== null && <span>status {status}</span>}
                </p>
                <p>{message}</p>
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}
