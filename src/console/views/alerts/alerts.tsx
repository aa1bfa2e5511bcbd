import { useState } from 'preact/hooks';
import type { AlertRecord } from '../../../administration/alerts.ts';
import type { TestedWebhook } from '../../../administration/catalog-context.ts';
import type { SnakeCased } from '../../../http/owner/commands.ts';
import { useAction } from '../../api/action.ts';
import { sendJson } from '../../api/request.ts';
import { useJson, useRefresh } from '../../api/resource.ts';
import { Button } from '../../components/button.tsx';
import { PagedTable } from '../../components/list.tsx';
import { Link } from '../../components/navigation.tsx';
import { FromProgram } from '../../components/snippets.tsx';
import { Empty, ErrorState } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import type { Outcome } from '../accounts/lists.ts';

const LIST = 'v1/admin/alerts/list?limit=200';
const TEST = 'v1/admin/alerts/test';
const REFRESH_MS = 10_000;

type Tested = SnakeCased<TestedWebhook>;

/** The place of a link below the console, which this page may have another address for. */
const placeOf = (link: string) => link.slice(link.indexOf('/console/') + '/console/'.length);

/** The latest alerts, and a test of the webhooks that get them, for the owner. */
export default function Alerts() {
  const alerts = useJson<Outcome<{ readonly alerts: readonly AlertRecord[] }>>(LIST);
  useRefresh(alerts.reload, REFRESH_MS);
  const [tested, setTested] = useState<readonly Tested[]>();
  const test = useAction(async () => {
    const options = { method: 'POST', json: {} } as const;
    const { result } = await sendJson<Outcome<{ readonly webhooks: readonly Tested[] }>>(
      TEST,
      options,
    );
    setTested(result.webhooks);
  });
  return (
    <>
      <div class="row">
        <h1>Alerts</h1>
        <Button onClick={() => test.run()} isBusy={test.isBusy}>
          Test webhooks
        </Button>
      </div>
      {test.error && <ErrorState error={test.error} />}
      {tested && (
        <div class="notice" role="status">
          {tested.length === 0 && (
            <p>
              No webhooks: add one to <code>alerts.webhooks</code> of the configuration file.
            </p>
          )}
          {tested.map(({ name, is_delivered: isDelivered, error, milliseconds }) => (
            <p key={name}>
              <span class={`badge ${isDelivered ? 'good' : 'bad'}`}>{name}</span>{' '}
              {isDelivered ? `delivered in ${milliseconds} ms` : error}
            </p>
          ))}
        </div>
      )}
      <PagedTable
        list={{ ...alerts, items: alerts.data?.result.alerts ?? [] }}
        caption="The latest alerts, newest first"
        empty={
          <Empty title="No alerts yet">
            <p>Budgets, routes, providers, errors, disk, memory and nodes are watched.</p>
          </Empty>
        }
        keyOf={({ id }) => id}
        columns={[
          ['Time', ({ at }) => <Time at={at} />],
          ['What', ({ type }) => <code>{type}</code>],
          ['Message', ({ message, link }) => <Link to={placeOf(link)}>{message}</Link>, 'wide'],
        ]}
      />
      <FromProgram what="This list" request={{ method: 'GET', path: LIST }} />
    </>
  );
}
