import type { CallbackList } from '../../../http/routes/tasks/media-schema.ts';
import type { Timeline } from '../../../http/routes/tasks/tasks.ts';
import { useJson } from '../../api/resource.ts';
import { hasEnded, type Task, useTaskEvents } from '../../api/tasks.ts';
import { Code } from '../../components/copy.tsx';
import { Facts, Failure } from '../../components/fact-list.tsx';
import { formatCredits, formatDuration, formatNumber } from '../../components/format.ts';
import { Link } from '../../components/navigation.tsx';
import { FromProgram } from '../../components/snippets.tsx';
import { Loaded } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';
import { TaskFiles, TaskState } from '../../components/task-files.tsx';
import { Time } from '../../components/time.tsx';

/** One task: what it made or why it failed, its way in time, its charge and its callbacks. */
export function TaskDetail({ id }: { readonly id: string }) {
  const path = `v1/tasks/${encodeURIComponent(id)}`;
  const task = useJson<Task>(path);
  const timeline = useJson<Timeline>(`${path}/timeline`);
  const reload = () => {
    task.reload();
    timeline.reload();
  };
  useTaskEvents((changed) => changed.task_id === id && reload(), reload);
  return (
    <>
      <p>
        <Link to="tasks">All tasks</Link>
      </p>
      <h1 class="anywhere">Task {id}</h1>
      <Loaded resource={task}>{(found) => <Outcome task={found} />}</Loaded>
      {!task.error && (
        <>
          <Loaded resource={timeline}>
            {(times) => (
              <>
                <section class="card" aria-labelledby="timeline">
                  <h2 id="timeline">Timeline</h2>
                  <Times timeline={times} />
                </section>
                <Code label="request" text={JSON.stringify(times.request, null, 2)} />
                {times.callback_url !== null && <Callbacks path={path} url={times.callback_url} />}
              </>
            )}
          </Loaded>
          <FromProgram what="This task" request={{ method: 'GET', path }} />
        </>
      )}
    </>
  );
}

function Outcome({ task }: { readonly task: Task }) {
  const { status, model, type, error, result } = task;
  return (
    <>
      <p class="facts" aria-live="polite">
        <TaskState status={status} />
        <span>{type}</span>
        <span>{model}</span>
      </p>
      {!hasEnded(task) && <progress class="fill" aria-label={`The task is ${status}`} />}
      {error && <Failure error={error} />}
      {result && <TaskFiles task={task} />}
    </>
  );
}

function Times({ timeline }: { readonly timeline: Timeline }) {
  const { created, started, ended, deadline, starts, attempts, credits, key_id: key } = timeline;
  const since = (later: number, earlier: number) =>
    later > earlier && <span class="muted"> after {formatDuration((later - earlier) * 1000)}</span>;
  return (
    <>
      <ol class="timeline">
        <li>
          <strong>Created</strong> <Time at={created} />
        </li>
        {started !== null && (
          <li>
            <strong>Started</strong> <Time at={started} />
            {since(started, created)}
          </li>
        )}
        {attempts.map(({ at, error }, index) => (
          <li key={index} class={error ? 'bad' : undefined}>
            <strong>{error ? 'Provider failed' : 'Provider answered'}</strong> <Time at={at} />{' '}
            {error && <code>{error.code ?? error.type}</code>}
          </li>
        ))}
        {ended === null ? (
          <li class="muted">
            Expires <Time at={deadline} /> if it has not ended
          </li>
        ) : (
          <li>
            <strong>Ended</strong> <Time at={ended} />
            {since(ended, started ?? created)}
          </li>
        )}
      </ol>
      <Facts
        facts={[
          <>
            <strong>{formatCredits(credits.charged)}</strong> credits charged
          </>,
          credits.reserved > 0 && `${formatCredits(credits.reserved)} reserved`,
          starts > 1 && `started ${starts} times, after restarts of the server`,
          <>
            key <code>{key}</code>
          </>,
        ]}
      />
    </>
  );
}

const TONES: Readonly<Record<CallbackList['data'][number]['status'], string>> = {
  pending: '',
  delivered: 'good',
  failed: 'bad',
};

/** The callbacks of a task and their tries. @param path of the task on the server */
function Callbacks({ path, url }: { readonly path: string; readonly url: string }) {
  const list = useJson<CallbackList>(`${path}/callbacks`);
  return (
    <section class="card" aria-labelledby="callbacks">
      <h2 id="callbacks">Callback</h2>
      <p class="anywhere">
        <code>{url}</code>
      </p>
      <Loaded resource={list}>
        {({ data }) =>
          data.length === 0 ? (
            <p class="muted">It is sent when the task ends.</p>
          ) : (
            data.map(({ id, status, attempts, next_attempt_at: next }) => (
              <div key={id} class="stack">
                <Facts
                  facts={[
                    <span key="status" class={`badge ${TONES[status]}`}>
                      {status}
                    </span>,
                    next !== null && (
                      <>
                        next try <Time at={next} />
                      </>
                    ),
                  ]}
                />
                {attempts.length > 0 && (
                  <Table
                    caption="Tries"
                    rows={attempts}
                    keyOf={(_, index) => index}
                    columns={[
                      ['Time', ({ at }) => <Time at={at} />],
                      [
                        'Answer',
                        ({ status: code, error }) => error ?? (code && formatNumber(code)),
                      ],
                      ['Took', ({ milliseconds }) => formatDuration(milliseconds), 'number'],
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
