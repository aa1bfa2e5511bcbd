import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { ConfigurationAnswer } from '../../../http/owner/configuration.ts';
import type { StatusAnswer } from '../../../http/owner/status.ts';
import { useAction } from '../../api/action.ts';
import { sendJson } from '../../api/request.ts';
import { useJson, useRefresh } from '../../api/resource.ts';
import { Button } from '../../components/button.tsx';
import { Checkbox, TextField } from '../../components/field.tsx';
import { Figures } from '../../components/figures.tsx';
import {
  formatBytes,
  formatNumber,
  formatRoundCredits,
  formatUptime,
} from '../../components/format.ts';
import { FromProgram } from '../../components/snippets.tsx';
import { Empty, Loaded } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { showToast } from '../../components/toast.tsx';

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
      <Loaded resource={configuration}>
        {(loaded) => <InForce configuration={loaded} onReload={configuration.reload} />}
      </Loaded>
      <FromProgram what="This page" request={{ method: 'GET', path: 'v1/admin/config' }} />
    </>
  );
}

interface InForceProps {
  readonly configuration: ConfigurationAnswer;
  /** Loads the answer again. */
  readonly onReload: () => void;
}

function InForce({ configuration, onReload }: InForceProps) {
  const { file, read, warnings, at_restart: later, refused } = configuration;
  const { error, isBusy, run } = useAction(async () => {
    await sendJson('v1/admin/config/reload', { method: 'POST' });
    showToast('The configuration was read again');
    onReload();
  });
  const fault = error?.message.split('\n');
  return (
    <>
      <div class="row">
        <Button isBusy={isBusy} onClick={() => run()}>
          Reload the file
        </Button>
        <span>
          {file === null ? (
            'No configuration file was found, so the models are a sandbox.'
          ) : (
            <code>{file}</code>
          )}
        </span>
        <span class="muted">
          read <Time at={read} />
        </span>
      </div>
      <Faults title="The file has faults. Nothing has changed:" texts={fault} isBad />
      {!fault && refused && (
        <Faults
          title={
            <>
              A changed file was not applied <Time at={refused.at} />. The settings before it stay
              in force:
            </>
          }
          texts={refused.faults}
          isBad
        />
      )}
      <Faults title="These changed settings take effect at the next start:" texts={later} />
      <Faults title="Probable mistakes:" texts={warnings} />
      <SettingsTable configuration={configuration} />
    </>
  );
}

/** A setting without parts, by its path. */
interface Setting {
  readonly path: string;
  readonly value: unknown;
  readonly source: string | undefined;
}

/** Settings with where they come from. Values of the default are left out at first. */
function SettingsTable({ configuration }: { readonly configuration: ConfigurationAnswer }) {
  const { settings, sources, unset } = configuration;
  const [text, setText] = useState('');
  const [hasDefaults, setDefaults] = useState(false);
  const parts = [...partsOf(settings, ''), ...unset.map((path) => ({ path, value: undefined }))];
  const all = parts.map((part) => ({ ...part, source: sources[part.path] }));
  const shown = all.filter(
    ({ path, source }) =>
      (hasDefaults || source !== undefined) && path.toLowerCase().includes(text.toLowerCase()),
  );
  return (
    <>
      <fieldset class="filters">
        <legend class="hidden">Which settings are shown</legend>
        <TextField label="Find" placeholder="server.port" value={text} onValue={setText} />
        <Checkbox label="With defaults" checked={hasDefaults} onChecked={setDefaults} />
      </fieldset>
      {shown.length === 0 ? (
        <Empty title="No such settings">
          <p>
            {hasDefaults ? 'No setting has this in its name.' : 'All of these have their default.'}
          </p>
        </Empty>
      ) : (
        <Table
          caption="Settings in force; secrets are shown as ***"
          rows={shown}
          keyOf={({ path }) => path}
          columns={[
            ['Setting', ({ path }) => <code>{path}</code>],
            ['Value', ({ value }) => textOf(value), 'wide'],
            [
              'Comes from',
              ({ value, source = value === undefined ? 'not set' : 'default' }) => (
                <span class="muted">{source}</span>
              ),
            ],
          ]}
        />
      )}
    </>
  );
}

/** Parts of settings, with lists of texts and numbers whole. */
function partsOf(value: unknown, path: string): readonly Omit<Setting, 'source'>[] {
  const isList = Array.isArray(value) && value.every((item) => typeof item !== 'object');
  if (isList || typeof value !== 'object' || value === null) return [{ path, value }];
  return Object.entries(value).flatMap(([name, part]) =>
    partsOf(part, Array.isArray(value) ? `${path}[${name}]` : path ? `${path}.${name}` : name),
  );
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

interface FaultsProps {
  readonly title: ComponentChildren;
  readonly texts: readonly string[] | undefined;
  readonly isBad?: boolean;
}

/** Faults and warnings, each with its place in the file; nothing without any. */
function Faults({ title, texts = [], isBad = false }: FaultsProps) {
  if (texts.length === 0) return null;
  return (
    <div class={`notice ${isBad ? 'bad' : 'warn'}`} role={isBad ? 'alert' : undefined}>
      <p>{title}</p>
      <ul class="stack">
        {texts.map((text) => (
          <li key={text}>
            <code>{text}</code>
          </li>
        ))}
      </ul>
    </div>
  );
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
        <p class="notice warn" role="status">
          The server is stopping. It finishes running requests and accepts no new ones.
        </p>
      )}
      {fault && (
        <p class="notice bad" role="alert">
          The store cannot be written: {fault}
        </p>
      )}
      <Figures
        figures={[
          [
            'Oriel',
            status.version,
            `up ${formatUptime(status.uptime_seconds)}`,
            `Node ${status.node}`,
            status.public_url,
          ],
          ['Memory', formatBytes(status.memory.rss_bytes), 'of the main process'],
          [
            'Disk',
            bytes(disk.store_bytes),
            'store',
            disk.free_bytes !== null && `${formatBytes(disk.free_bytes)} free`,
            store.journals !== null && `journals: ${formatNumber(store.journals)}`,
          ],
          [
            'Image pool',
            `${formatNumber(pool.running)} of ${formatNumber(pool.threads)}`,
            'in use',
            `${formatNumber(pool.waiting)} jobs wait`,
          ],
          [
            'Open tasks',
            formatNumber(status.open_tasks),
            ...queues.map(
              ({ provider, running, limit, waiting }) =>
                `${provider}: ${running} of ${limit}, ${waiting} wait`,
            ),
          ],
          [
            'Credits spent',
            formatRoundCredits(store.credits.spent),
            `${formatRoundCredits(store.credits.reserved)} reserved`,
            `${formatNumber(store.accounts)} accounts`,
            `${formatNumber(store.keys)} keys`,
          ],
        ]}
      />
    </>
  );
}
