import type { ConfigurationAnswer } from '../../../http/owner/configuration.ts';
import type { StatusAnswer } from '../../../http/owner/status.ts';
import { sendJson } from '../../api/request.ts';
import { useRefresh, useResource } from '../../api/resource.ts';
import { Code } from '../../components/copy.tsx';
import { formatTime } from '../../components/format.ts';
import { FromProgram } from '../../components/snippets.tsx';
import { Loaded } from '../../components/states.tsx';
import { StatusCards } from './status-cards.tsx';

const REFRESH_MS = 5000;

/** The state of the server and its configuration as it is in force, for the owner. */
export default function Settings() {
  const status = useResource((signal) => sendJson<StatusAnswer>('v1/admin/status', { signal }), []);
  const configuration = useResource(
    (signal) => sendJson<ConfigurationAnswer>('v1/admin/config', { signal }),
    [],
  );
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
        {file === null ? (
          <span>No configuration file was found, so the models are a sandbox.</span>
        ) : (
          <span>
            <code>{file}</code>
          </span>
        )}
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
      {later.length > 0 && (
        <div class="notice warn">
          <p>These changed settings take effect at the next start:</p>
          <List texts={later} />
        </div>
      )}
      {warnings.length > 0 && (
        <div class="notice warn">
          <p>Probable mistakes:</p>
          <List texts={warnings} />
        </div>
      )}
      <p class="muted">
        All settings with their defaults; secrets are shown as ***. They are changed in the file,
        and <code>SIGHUP</code> makes the server read it again.
      </p>
      <Code label="Settings in force" text={JSON.stringify(settings, null, 2)} />
    </>
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
