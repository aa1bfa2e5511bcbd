import { useEffect, useState } from 'preact/hooks';
import { useAction } from './action.ts';
import { sendJson } from './request.ts';
import { useJson } from './resource.ts';
import { hasEnded, type Task, type TaskList, useTaskEvents } from './tasks.ts';

/** Tasks as far as they are loaded, newest first. */
export interface TaskPages {
  readonly tasks: readonly Task[];
  readonly hasMore: boolean;
  /** Whether the first page has come; before it there may be tasks of events. */
  readonly isLoaded: boolean;
}

export const NO_PAGES: TaskPages = { tasks: [], hasMore: false, isLoaded: false };

/**
 * A task does not leave its end: an older answer may come later than an event. Events do not have the request.
 */
function newer(known: Task | undefined, task: Task): Task {
  return known && hasEnded(known) && !hasEnded(task)
    ? { ...task, ...known }
    : { ...known, ...task };
}

/** With the first page, which may be loaded again. Tasks before it are those that events named meanwhile. */
export function withFirst({ tasks, hasMore, isLoaded }: TaskPages, page: TaskList): TaskPages {
  const known = new Map(tasks.map((task) => [task.task_id, task]));
  const listed = new Set(page.data.map(({ task_id: id }) => id));
  const first = tasks.findIndex(({ task_id: id }) => listed.has(id));
  const fresh = page.data.map((task) => newer(known.get(task.task_id), task));
  // So many tasks are new that those between are not known.
  if (isLoaded && first === -1) return { tasks: fresh, hasMore: page.has_more, isLoaded: true };
  const isOther = ({ task_id: id }: Task) => !listed.has(id);
  const cut = first === -1 ? tasks.length : first;
  return {
    tasks: [...tasks.slice(0, cut), ...fresh, ...tasks.slice(cut).filter(isOther)],
    hasMore: isLoaded ? hasMore : page.has_more,
    isLoaded: true,
  };
}

/** With the page after the last task. */
export function withNext({ tasks }: TaskPages, page: TaskList): TaskPages {
  const known = new Set(tasks.map(({ task_id: id }) => id));
  const older = page.data.filter(({ task_id: id }) => !known.has(id));
  return { tasks: [...tasks, ...older], hasMore: page.has_more, isLoaded: true };
}

/** With a task as it is now; one that is not known is new. */
export function withTask(pages: TaskPages, task: Task): TaskPages {
  const { tasks } = pages;
  const isKnown = tasks.some(({ task_id: id }) => id === task.task_id);
  if (!isKnown) return { ...pages, tasks: [task, ...tasks] };
  const change = (one: Task) => (one.task_id === task.task_id ? newer(one, task) : one);
  return { ...pages, tasks: tasks.map(change) };
}

/**
 * A list of tasks, live.
 *
 * @param path of its first page
 * @param admits whether a task that is new belongs to the list
 * @param onTask called with each task that changes
 */
export function useTaskList(
  path: string,
  admits: (task: Task) => boolean,
  onTask: (task: Task) => void = () => {},
) {
  const first = useJson<TaskList>(path);
  const [pages, setPages] = useState(NO_PAGES);
  const { tasks, hasMore, isLoaded } = pages;
  const add = (task: Task) =>
    setPages((known) => {
      const isKnown = known.tasks.some(({ task_id: id }) => id === task.task_id);
      return isKnown || admits(task) ? withTask(known, task) : known;
    });
  useEffect(() => {
    if (first.data) setPages((known) => withFirst(known, first.data!));
  }, [first.data]);
  useTaskEvents((task) => {
    add(task);
    onTask(task);
  }, first.reload);
  const older = useAction(async () => {
    const after = encodeURIComponent(tasks.at(-1)!.task_id);
    const page = await sendJson<TaskList>(`${path}&after=${after}`);
    setPages((known) => withNext(known, page));
  });
  return {
    /** Undefined until the first page is loaded. */
    data: isLoaded ? tasks : undefined,
    items: isLoaded ? tasks : [],
    /** Why they were not loaded. */
    error: isLoaded ? undefined : first.error,
    hasMore,
    older,
    add,
    reload: first.reload,
  };
}
