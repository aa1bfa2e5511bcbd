import { useEffect, useState } from 'preact/hooks';
import type { CatalogAnswer } from '../../../http/owner/models.ts';
import { useJson, useRefresh } from '../../api/resource.ts';
import { Button } from '../../components/button.tsx';
import { open, type ViewProps } from '../../components/navigation.tsx';
import { FromProgram } from '../../components/snippets.tsx';
import { Empty, Loaded } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { type Act, ActionButtons, useActions } from '../accounts/limits.tsx';
import type { Outcome } from '../accounts/lists.ts';
import {
  addModel,
  addProvider,
  changeModel,
  changeProvider,
  type Model,
  type Provider,
  priceText,
  removal,
  type Test,
} from './actions.ts';
import { ProviderCard } from './provider-card.tsx';
import { TestDialog } from './test-dialog.tsx';

const PATH = 'v1/admin/models';
const REFRESH_MS = 10_000;

/** Providers with their health and models with their routes, for the owner, who adds and changes those of the store. */
export default function Models({ place }: ViewProps) {
  const health = useJson<CatalogAnswer>(PATH);
  const providers =
    useJson<Outcome<{ readonly providers: readonly Provider[] }>>('v1/admin/providers/list');
  const models = useJson<Outcome<{ readonly models: readonly Model[] }>>('v1/admin/models/list');
  const [tested, setTested] = useState<{ readonly name: string; readonly first?: Test }>();
  const reload = () => {
    for (const one of [health, providers, models]) one.reload();
  };
  const { act, dialogs } = useActions((result, action) => {
    const first = result['test'] as Test | null | undefined;
    if (action === addProvider)
      setTested({ name: String(result['name']), ...(first && { first }) });
    reload();
  });
  useRefresh(reload, REFRESH_MS);
  useEffect(() => {
    if (place.query.get('add') !== 'provider') return;
    act(addProvider);
    open('models', { replace: true });
  }, [place.query]);
  const names = (providers.data?.result.providers ?? [])
    .filter((one) => one.place !== SANDBOX)
    .map(({ name }) => name);
  return (
    <>
      <div class="row">
        <h1>Models & routes</h1>
        <Button kind="primary" onClick={() => act(addProvider)}>
          Add provider
        </Button>
      </div>
      <h2>Providers</h2>
      <Loaded resource={providers}>
        {({ result }) => (
          <ProviderList
            providers={result.providers}
            health={health.data}
            act={act}
            onTest={(name) => setTested({ name })}
          />
        )}
      </Loaded>
      <Loaded resource={models}>
        {({ result }) => (
          <>
            <div class="row">
              <h2>Models</h2>
              {names.length > 0 && <Button onClick={() => act(addModel(names))}>Add model</Button>}
            </div>
            {result.models.length === 0 ? (
              <Empty title="No models">
                <p>Test a provider and choose the models that you offer.</p>
              </Empty>
            ) : (
              <ModelTable {...{ models: result.models, health: health.data, names, act }} />
            )}
          </>
        )}
      </Loaded>
      <FromProgram what="This page" request={{ method: 'GET', path: PATH }} />
      {dialogs}
      {tested && (
        <TestDialog
          {...tested}
          models={models.data?.result.models ?? []}
          onChange={reload}
          onClose={() => setTested(undefined)}
        />
      )}
    </>
  );
}

/** Place of the catalog that an empty daemon has. */
const SANDBOX = 'the sandbox';

interface ProviderListProps {
  readonly providers: readonly Provider[];
  readonly health: CatalogAnswer | undefined;
  readonly act: Act;
  readonly onTest: (name: string) => void;
}

function ProviderList({ providers, health, act, onTest }: ProviderListProps) {
  return (
    <ul class="columns providers" style={{ '--least': '22rem' }}>
      {providers.map((provider) => {
        const { name, source, place } = provider;
        const isInForce = provider.status === 'in force';
        return (
          <li key={`${source} ${name}`}>
            <ProviderCard
              provider={provider}
              health={isInForce ? health?.providers.find((one) => one.name === name) : undefined}
            >
              {isInForce && place !== SANDBOX && (
                <Button aria-label={`Test ${name}`} onClick={() => onTest(name)}>
                  Test
                </Button>
              )}
              {source === 'store' && (
                <ActionButtons
                  {...{ kind: 'plain', name, act }}
                  actions={[
                    ['Change', changeProvider(provider)],
                    ['Remove', removal('providers', name)],
                  ]}
                />
              )}
            </ProviderCard>
          </li>
        );
      })}
    </ul>
  );
}

interface ModelTableProps {
  readonly models: readonly Model[];
  readonly health: CatalogAnswer | undefined;
  /** Of providers. */
  readonly names: readonly string[];
  readonly act: Act;
}

function ModelTable({ models, health, names, act }: ModelTableProps) {
  const states = new Map(health?.models.map(({ id, routes }) => [id, routes]));
  return (
    <Table
      caption="Models and their routes, in the order in which they are tried"
      rows={models}
      keyOf={({ name, source }) => `${source} ${name}`}
      columns={[
        [
          'Model',
          ({ name, aliases }) => (
            <>
              {name}
              {aliases.length > 0 && <span class="muted"> also {aliases.join(', ')}</span>}
            </>
          ),
        ],
        ['Type', ({ type }) => type],
        ['Routes', (model) => <Routes model={model} states={states.get(model.name) ?? []} />],
        ['Credits', ({ price }) => priceText(price) || <span class="muted">free</span>],
        [
          'Change',
          (model) => {
            const { name, source, place } = model;
            if (source === 'file') return <span class="muted">read only: {place}</span>;
            return (
              <ActionButtons
                {...{ name, act }}
                actions={[
                  ['Change', changeModel(model, names)],
                  ['Remove', removal('models', name)],
                ]}
              />
            );
          },
        ],
      ]}
    />
  );
}

interface RoutesProps {
  readonly model: Model;
  readonly states: CatalogAnswer['models'][number]['routes'];
}

/** The routes of a model that are in force, the first that is tried first; why none is. */
function Routes({ model: { status, reason, routes }, states }: RoutesProps) {
  if (status !== 'in force') {
    return (
      <span title={reason ?? undefined}>
        <span class="badge bad">{status}</span> <span class="muted">{reason}</span>
      </span>
    );
  }
  return (
    <ol>
      {routes
        .toSorted((one, other) => other.priority - one.priority)
        .map(({ provider, model }) => {
          const resting = states.find(
            (one) => one.provider === provider && one.model === model,
          )?.resting;
          return (
            <li key={`${provider} ${model}`}>
              <span class={`badge ${resting ? 'warn' : 'good'}`}>
                {resting ? 'cooling down' : 'in use'}
              </span>{' '}
              {provider} <span class="muted">{model}</span>
              {resting && (
                <span class="muted">
                  {' '}
                  until <Time at={Date.parse(resting.until) / 1000} />: {resting.reason}
                </span>
              )}
            </li>
          );
        })}
    </ol>
  );
}
