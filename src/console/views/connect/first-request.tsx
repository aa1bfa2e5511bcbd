import { useRef } from 'preact/hooks';
import type { RequestRecord } from '../../../store/requests/record.ts';
import { useJson, useRefresh } from '../../api/resource.ts';
import { formatDuration } from '../../components/format.ts';
import { Link } from '../../components/navigation.tsx';
import { ErrorState, Loading } from '../../components/states.tsx';

/** Milliseconds between two looks: they count for the rate limit of the session's key. */
const INTERVAL = 4000;

interface FirstRequestProps {
  /** Of the key. */
  readonly id: string;
  readonly isOwner: boolean;
}

/** Waits for the next request of a key, then shows how it went. */
export function FirstRequest({ id, isOwner }: FirstRequestProps) {
  const base = isOwner ? 'v1/admin/requests?sign_ins=false&' : 'v1/requests?';
  const { data, error, reload } = useJson<{ readonly data: readonly RequestRecord[] }>(
    `${base}key=${encodeURIComponent(id)}&limit=5`,
  );
  /** The newest request before the wait. */
  const before = useRef<string | null | undefined>(undefined);
  const latest = data?.data.find(({ route }) => route !== '/v1/session');
  if (data && before.current === undefined) before.current = latest?.id ?? null;
  const arrived = latest && latest.id !== before.current ? latest : undefined;
  useRefresh(() => arrived || reload(), INTERVAL);
  if (error) return <ErrorState error={error} onRetry={reload} />;
  // A request that arrives before the first look would count as an earlier one.
  if (!data) return <Loading />;
  return (
    <div class={`notice ${arrived && (arrived.status < 400 ? 'good' : 'bad')}`}>
      <p role="status">
        {arrived ? (
          <>
            <strong>{arrived.status < 400 ? 'Connected.' : 'A request failed.'}</strong>{' '}
            {arrived.model ?? arrived.route}, status {arrived.status}
            {arrived.error && ` (${arrived.error.code ?? arrived.error.type})`},{' '}
            {formatDuration(arrived.latency_ms)}
          </>
        ) : (
          'Waiting for the first request with this key…'
        )}
      </p>
      {arrived && isOwner && (
        <Link to={`requests?key=${encodeURIComponent(id)}`}>Show the requests of this key</Link>
      )}
    </div>
  );
}
