import type { ComponentChildren } from 'preact';
import type { OwnerRequestRecord } from '../../../http/routes/requests.ts';
import { CopyButton } from '../../components/copy.tsx';
import {
  formatCredits,
  formatDuration,
  formatNumber,
  formatTime,
} from '../../components/format.ts';
import { Link } from '../../components/navigation.tsx';

/** Everything that is known of a request. */
export function RequestFacts({ request }: { readonly request: OwnerRequestRecord }) {
  const {
    id,
    error,
    account,
    key,
    provider,
    upstream_model: upstreamModel,
    task_id: task,
  } = request;
  const number = (value: number | null) => value !== null && formatNumber(value);
  const time = (value: number | null) => value !== null && formatDuration(value);
  const facts: readonly (readonly [title: string, value: ComponentChildren])[] = [
    ['Endpoint', `${request.method} ${request.route}`],
    ['Ended', formatTime(request.ended)],
    ['Status', String(request.status)],
    ['Error', error && <code>{error.code ?? error.type}</code>],
    ['Account', account?.name],
    ['Key', key && `${key.name} (${key.id})`],
    ['Model', request.model],
    ['Provider', provider && `${provider}${upstreamModel ? `, ${upstreamModel}` : ''}`],
    ['Attempts', number(request.attempts)],
    ['Took', time(request.latency_ms)],
    ['First token after', time(request.first_token_ms)],
    ['Input tokens', number(request.input_tokens)],
    ['of them from caches', number(request.cached_input_tokens)],
    ['Output tokens', number(request.output_tokens)],
    ['Credits', request.credits !== null && formatCredits(request.credits)],
    ['Task', task && <Link to={`tasks/${encodeURIComponent(task)}`}>{task}</Link>],
  ];
  return (
    <div class="stack">
      <div class="table">
        <table>
          <tbody>
            {facts.map(
              ([title, value]) =>
                value && (
                  <tr key={title}>
                    <th scope="row">{title}</th>
                    <td>{value}</td>
                  </tr>
                ),
            )}
          </tbody>
        </table>
      </div>
      <p class="row">
        <code>{id}</code>
        <CopyButton text={id} label="request id" />
        <span class="muted">finds it in the log of the server</span>
      </p>
    </div>
  );
}
