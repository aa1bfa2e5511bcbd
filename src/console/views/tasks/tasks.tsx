import { useEffect } from 'preact/hooks';
import { useList } from '../../api/list.ts';
import { hasEnded, TASKS, type Task } from '../../api/tasks.ts';
import { filtersOf, type Values } from '../../components/form-field.ts';
import { ListFilters } from '../../components/form-fields.tsx';
import { formatCredits, formatDuration } from '../../components/format.ts';
import { PagedTable } from '../../components/list.tsx';
import { Link, type ViewProps } from '../../components/navigation.tsx';
import { FromProgram } from '../../components/snippets.tsx';
import { Empty } from '../../components/states.tsx';
import { TaskState, Thumbnail } from '../../components/task-files.tsx';
import { Time } from '../../components/time.tsx';
import { admits, FILTERS, pathOf } from './filters.ts';
import { TaskDetail } from './task-detail.tsx';

/** Milliseconds after which the list is loaded again for what events lack. */
const COMPLETE_MS = 500;

/** The tasks of the account, and one task at an address of its own. */
export default function Tasks({ place }: ViewProps) {
  const id = place.rest;
  return id === '' ? <TaskTable query={place.query} /> : <TaskDetail key={id} id={id} />;
}

/** All tasks that the filters of the address let through, newest first, live. */
function TaskTable({ query }: { readonly query: URLSearchParams }) {
  const filters = filtersOf(FILTERS, query);
  const path = pathOf(filters);
  return (
    <>
      <h1>Tasks</h1>
      <p class="muted">
        Images, video and audio are made in the background. This list follows them as they change.
      </p>
      <ListFilters view="tasks" fields={FILTERS} values={filters} />
      <List key={path} path={path} filters={filters} />
      <FromProgram what="This list" request={{ method: 'GET', path }} />
    </>
  );
}

/** Tasks that the filters no longer let through stay, so that nothing vanishes while it is read. */
function List({ path, filters }: { readonly path: string; readonly filters: Values }) {
  const list = useList(path, { ...TASKS, admits: (task) => admits(filters, task) });
  // Events have neither prompts nor times.
  const isPartial = list.items.some((task) => !task.created || (hasEnded(task) && !task.ended));
  useEffect(() => {
    const timer = isPartial ? setTimeout(list.reload, COMPLETE_MS) : undefined;
    return () => clearTimeout(timer);
  }, [list.data]);
  return (
    <PagedTable
      list={list}
      caption="Tasks, newest first"
      more="Show older tasks"
      empty={
        <Empty title="No tasks here">
          <p>
            Make an image, a video or audio at <Link to="create">Create</Link>, by a program (
            <Link to="api">API</Link>) or by <code>oriel generate</code>, and it appears here.
          </p>
        </Empty>
      }
      keyOf={({ task_id }) => task_id}
      columns={[
        ['Task', Title, 'wide'],
        ['State', State],
        ['Model', ({ model }) => model],
        ['Created', ({ created }) => created !== undefined && <Time at={created} />],
        ['Took', durationOf, 'number'],
        ['Credits', ({ credits = 0 }) => credits > 0 && formatCredits(credits), 'number'],
      ]}
    />
  );
}

/** What a task made, and its prompt. */
function Title(task: Task) {
  const { task_id: id, request } = task;
  const prompt = request?.['prompt'] ?? request?.['input'];
  return (
    <Link class="title" to={`tasks/${encodeURIComponent(id)}`} title={id}>
      <Thumbnail task={task} />
      <span class="ellipsis" dir="auto">
        {typeof prompt === 'string' ? prompt.slice(0, 300) : id}
      </span>
    </Link>
  );
}

function State(task: Task) {
  const { error } = task;
  return (
    <>
      <TaskState status={task.status} /> {error && <code>{error.code ?? error.type}</code>}
    </>
  );
}

/** Time from the creation to the end. */
function durationOf(task: Task): string | false {
  const { created, ended } = task;
  return hasEnded(task) && created !== undefined && ended != null
    ? formatDuration((ended - created) * 1000)
    : false;
}
