import type { CatalogAnswer } from '../../../http/owner/models.ts';
import { formatNumber, formatTime } from '../../components/format.ts';

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
export function ProviderCard({ provider }: { readonly provider: Provider }) {
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
          <span class="badge warn">key resting</span>
          <code>{key}</code>
          <span>
            until {formatTime(Date.parse(until) / 1000)}: {reason}
          </span>
        </p>
      ))}
      {failures.length > 0 && (
        <details>
          <summary>Last failures</summary>
          <ul class="stack failures">
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
