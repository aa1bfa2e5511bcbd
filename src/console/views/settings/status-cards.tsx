import type { ComponentChildren } from 'preact';
import type { StatusAnswer } from '../../../http/owner/status.ts';
import { formatBytes, formatCredits, formatNumber } from '../../components/format.ts';

const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const;

/** A duration by its largest unit. */
function duration(seconds: number): string {
  const [unit, size] = UNITS.find(([, least]) => seconds >= least) ?? UNITS[3];
  const format = { style: 'unit', unit, unitDisplay: 'long' } as const;
  return new Intl.NumberFormat(undefined, format).format(Math.floor(seconds / size));
}

function bytes(value: number | null): string {
  return value === null ? 'the disk does not answer' : formatBytes(value);
}

/** What the server does now. */
export function StatusCards({ status }: { readonly status: StatusAnswer }) {
  const { store, disk, pool, queues } = status;
  const fault = store.fault ?? store.checkpoint_fault;
  return (
    <>
      {status.draining && (
        <div class="notice warn" role="status">
          <p>The server is stopping: it ends what it began and accepts nothing new.</p>
        </div>
      )}
      {fault && (
        <div class="notice bad" role="alert">
          <p>The store cannot be written: {fault}</p>
        </div>
      )}
      <div class="columns">
        <Card title="Oriel" figure={status.version}>
          <span>up {duration(status.uptime_seconds)}</span>
          <span>Node {status.node}</span>
          <span>{status.public_url}</span>
        </Card>
        <Card title="Memory" figure={formatBytes(status.memory.rss_bytes)}>
          <span>of the main process</span>
        </Card>
        <Card title="Disk" figure={bytes(disk.store_bytes)}>
          <span>store</span>
          {disk.free_bytes !== null && <span>{formatBytes(disk.free_bytes)} free</span>}
          {store.journals !== null && <span>journals: {formatNumber(store.journals)}</span>}
        </Card>
        <Card
          title="Image pool"
          figure={`${formatNumber(pool.running)} of ${formatNumber(pool.threads)}`}
        >
          <span>in use</span>
          <span>{formatNumber(pool.waiting)} jobs wait</span>
        </Card>
        <Card title="Open tasks" figure={formatNumber(status.open_tasks)}>
          {queues.map(({ provider, running, limit, waiting }) => (
            <span key={provider}>
              {provider}: {running} of {limit}, {waiting} wait
            </span>
          ))}
        </Card>
        <Card title="Credits spent" figure={formatCredits(store.credits.spent)}>
          <span>{formatCredits(store.credits.reserved)} reserved</span>
          <span>{formatNumber(store.accounts)} accounts</span>
          <span>{formatNumber(store.keys)} keys</span>
        </Card>
      </div>
    </>
  );
}

interface CardProps {
  readonly title: string;
  readonly figure: string;
  readonly children: ComponentChildren;
}

function Card({ title, figure, children }: CardProps) {
  return (
    <section class="card" aria-label={title}>
      <h3 class="muted">{title}</h3>
      <p class="figure">{figure}</p>
      <p class="facts">{children}</p>
    </section>
  );
}
