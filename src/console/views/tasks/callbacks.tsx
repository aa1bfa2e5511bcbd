import type { CallbackList } from '../../../http/routes/media-schema.ts';
import { sendJson } from '../../api/request.ts';
import { useResource } from '../../api/resource.ts';
import { formatDuration, formatNumber, formatTime } from '../../components/format.ts';
import { Loaded } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';

/** The callbacks of a task and their tries. @param path of the task on the server */
export function Callbacks({ path, url }: { readonly path: string; readonly url: string }) {
  const list = useResource(
    (signal) => sendJson<CallbackList>(`${path}/callbacks`, { signal }),
    [path],
  );
  return (
    <section class="card" aria-labelledby="callbacks">
      <h2 id="callbacks">Callback</h2>
      <p class="identifier">
        <code>{url}</code>
      </p>
      <Loaded resource={list}>
        {({ data }) =>
          data.length === 0 ? (
            <p class="muted">It is sent when the task ends.</p>
          ) : (
            data.map(({ id, status, attempts, next_attempt_at: next }) => (
              <div key={id} class="stack">
                <p class="facts">
                  <span
                    class={`badge ${status === 'delivered' ? 'good' : status === 'pending' ? '' : 'bad'}`}
                  >
                    {status}
                  </span>
                  {next !== null && <span>next try {formatTime(next)}</span>}
                </p>
                {attempts.length > 0 && (
                  <Table
                    caption="Tries"
                    rows={attempts.map((one, number) => ({ ...one, number }))}
                    keyOf={({ number }) => number}
                    columns={[
                      { title: 'Time', cell: ({ at }) => formatTime(at) },
                      {
                        title: 'Answer',
                        cell: ({ status: code, error }) =>
                          error ?? (code === null ? '' : formatNumber(code)),
                      },
                      {
                        title: 'Took',
                        isNumber: true,
                        cell: ({ milliseconds }) => formatDuration(milliseconds),
                      },
                    ]}
                  />
                )}
              </div>
            ))
          )
        }
      </Loaded>
    </section>
  );
}
