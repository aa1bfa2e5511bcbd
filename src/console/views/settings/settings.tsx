import type { ComponentChildren } from 'preact';
import type { ConfigurationAnswer } from '../../../http/owner/configuration.ts';
import type { StatusAnswer } from '../../../http/owner/status.ts';
import { useJson, useRefresh } from '../../api/resource.ts';
import { Code } from '../../components/copy.tsx';
import {
  formatBytes,
  formatCredits,
  formatNumber,
  formatTime,
  withUnit,
} from '../../components/format.ts';
import { FromProgram } from '../../components/snippets.tsx';
import { Loaded } from '../../components/states.tsx';

const REFRESH_MS = 5000;

/** The state of the server and its configuration as it is in force, for the owner. */
export default function Settings() {
  const status = useJson<StatusAnswer>('v1/admin/status');
  const configuration = useJson<ConfigurationAnswer>('v1/admin/config');
  useRefresh(status.reload, REFRESH_MS);
  return (
    <>
      <h1>Settings</h1>
      <h2>Server</h2>
      <Loaded resource={status}>{(state) => <StatusCards status={state} />}</Loaded>
      <h2>Configuration</h2>
      <Loaded resource={configuration}>{(loaded) => <InForce configuration={loaded} />}</Loaded>
      <FromProgram what="This page" request={{ method: 'GET', path: 'v1/admin/config' }} />
    </>
  );
}

function InForce({ configuration }: { readonly configuration: ConfigurationAnswer }) {
  const { file, read, settings, warnings, at_restart: later, refused } = configuration;
  return (
    <>
      <p class="facts">
        <span>
          {file === null ? (
            'No configuration file was found, so the models are a sandbox.'
          ) : (
            <code>{file}</code>
          )}
        </span>
        <span>read {formatTime(read)}</span>
      </p>
      {refused && (
        <div class="notice bad" role="alert">
          <p>
            <strong>A changed file was not applied</strong> at {formatTime(refused.at)}. The
            settings before it stay in force.
          </p>
          <List texts={refused.faults} />
        </div>
      )}
      <Warnings title="These changed settings take effect at the next start:" texts={later} />
      <Warnings title="Probable mistakes:" texts={warnings} />
      <p class="muted">
        All settings with their defaults; secrets are shown as ***. They are changed in the file,
        and <code>SIGHUP</code> makes the server read it again.
      </p>
      <Code label="Settings in force" text={JSON.stringify(settings, null, 2)} />
    </>
  );
}

interface WarningsProps {
  readonly title: string;
  readonly texts: readonly string[];
}

function Warnings({ title, texts }: WarningsProps) {
  if (texts.length === 0) return null;
  return (
    <div class="notice warn">
      <p>{title}</p>
      <List texts={texts} />
    </div>
  );
}

function List({ texts }: { readonly texts: readonly string[] }) {
  return (
    <ul class="stack">
      {texts.map((text) => (
        <li key={text}>
          <code>{text}</code>
        </li>
      ))}
    </ul>
  );
}

const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const;

/** A duration by its largest unit. */
function duration(seconds: number): string {
  const [unit, size] = UNITS.find(([, least]) => seconds >= least) ?? UNITS[3];
  return withUnit(Math.floor(seconds / size), unit, 'long', 0);
}

function bytes(value: number | null): string {
  return value === null ? 'the disk does not answer' : formatBytes(value);
}

/** What the server does now. */
function StatusCards({ status }: { readonly status: StatusAnswer }) {
  const { store, disk, pool, queues } = status;
  const fault = store.fault ?? store.checkpoint_fault;
  return (
    <>
      {status.draining && (
        <div class="notice warn" role="status">
          <p>The server is stopping. It finishes running requests and accepts no new ones.</p>
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
