import type { ComponentChildren } from 'preact';
import type { CatalogAnswer } from '../../../http/owner/models.ts';
import { Facts } from '../../components/fact-list.tsx';
import { formatNumber } from '../../components/format.ts';
import { Time } from '../../components/time.tsx';
import type { Provider } from './actions.ts';

type Health = CatalogAnswer['providers'][number];

/** Words and tones of states. */
const STATES: Readonly<Record<Health['state'], readonly [label: string, tone: string]>> = {
  ok: ['working', 'good'],
  unused: ['not used yet', ''],
  failing: ['failing', 'warn'],
  wrong_key: ['wrong key', 'bad'],
  forbidden: ['key not permitted', 'bad'],
  no_credit: ['no credit left', 'bad'],
};

interface ProviderCardProps {
  readonly provider: Provider;
  /** Undefined for one that is not in force. */
  readonly health: Health | undefined;
  /** Buttons. */
  readonly children: ComponentChildren;
}

/** A provider, its health, and what has to be done about it. */
export function ProviderCard({ provider, health, children }: ProviderCardProps) {
  const { name, kind, base_url: url, hint, models, place, status, reason } = provider;
  const [label, tone] = health ? STATES[health.state] : [status, 'bad'];
  const problem = reason ?? health?.problem;
  return (
    <section class="card" aria-label={`Provider ${name}`}>
      <div class="row">
        <h3>{name}</h3>
        <span class={`badge ${tone}`}>{label}</span>
        <span class="muted end">{kind}</span>
      </div>
      {problem && <p class="notice bad">{problem}</p>}
      <Facts
        facts={[
          url && <code>{url}</code>,
          hint && (
            <>
              key <code>{hint}</code>
            </>
          ),
          `${formatNumber(models.length)} ${models.length === 1 ? 'model' : 'models'}`,
          place && `read only: ${place}`,
        ]}
      />
      {health && <Attempts health={health} />}
      <div class="row">{children}</div>
    </section>
  );
}

function Attempts({ health }: { readonly health: Health }) {
  const { attempts, last_success: success, keys, resting_keys: resting, failures } = health;
  return (
    <>
      <Facts
        facts={[
          `requests since the start: ${formatNumber(attempts)}`,
          success !== null && (
            <>
              last answer <Time at={success} />
            </>
          ),
          keys > 1 && `${formatNumber(keys)} keys`,
        ]}
      />
      {resting.map(({ key, reason, until }) => (
        <p key={key} class="facts">
          <span class="badge warn">key cooling down</span>
          <code>{key}</code>
          <span>
            until <Time at={Date.parse(until) / 1000} />: {reason}
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
                  <Time at={at} />
                  <code>{code ?? type}</code>
                  {status !== null && <span>status {status}</span>}
                </p>
                <p>{message}</p>
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}
