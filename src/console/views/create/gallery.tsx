import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useRefresh } from '../../api/refresh.ts';
import { ApiError, sendJson } from '../../api/request.ts';
import { useResource } from '../../api/resource.ts';
import { filesOf, hasEnded, type Task, type TaskList, useTaskEvents } from '../../api/tasks.ts';
import { Button } from '../../components/button.tsx';
import { Empty, ErrorState, Loading } from '../../components/states.tsx';
import type { Kind } from './draft.ts';

const PAGE = 24;

/** Interval at which open tasks are read again, in case the stream of events stands still. */
const REFRESH_MS = 20_000;

export interface Gallery {
  /** Newest first; undefined until they are loaded. */
  readonly tasks: readonly Task[] | undefined;
  readonly error: ApiError | undefined;
  readonly hasMore: boolean;
  readonly isBusy: boolean;
  /** What a screen reader says about the last end of a task. */
  readonly news: string;
  add(task: Task): void;
  more(): void;
  reload(): void;
}

/** The tasks of a kind, live. @param onEnd called when a task has ended */
export function useGallery(kind: Kind, onEnd: () => void): Gallery {
  const path = `v1/tasks?type=${kind}&limit=${PAGE}`;
  const first = useResource((signal) => sendJson<TaskList>(path, { signal }), [path]);
  const [later, setLater] = useState<readonly TaskList[]>([]);
  const [changed, setChanged] = useState<ReadonlyMap<string, Task>>(new Map());
  const [error, setError] = useState<ApiError>();
  const [isBusy, setBusy] = useState(false);
  const [news, setNews] = useState('');
  const tasks =
    first.data &&
    merged(
      [first.data, ...later].flatMap(({ data }) => data),
      changed,
    );
  const add = (task: Task) => setChanged((known) => latest(known, task));
  const take = (task: Task) => {
    if (task.type !== kind) return;
    add(task);
    if (!hasEnded(task)) return;
    setNews(`${kind} task ${task.status}${task.error ? `: ${task.error.message}` : ''}`);
    onEnd();
  };
  // What is loaded anew is newer than the events before.
  useEffect(() => {
    if (first.data) for (const task of first.data.data) add(task);
  }, [first.data]);
  useTaskEvents(take, first.reload);
  const isOpen = tasks?.some((task) => !hasEnded(task)) ?? false;
  useRefresh(() => isOpen && first.reload(), REFRESH_MS);
  const more = async () => {
    setBusy(true);
    setError(undefined);
    try {
      const last = [first.data!, ...later].flatMap(({ data }) => data).at(-1)!;
      const page = await sendJson<TaskList>(`${path}&after=${encodeURIComponent(last.task_id)}`);
      setLater((pages) => [...pages, page]);
    } catch (failure) {
      setError(failure instanceof ApiError ? failure : new ApiError(String(failure)));
    }
    setBusy(false);
  };
  return {
    tasks,
    error: error ?? (first.data ? undefined : first.error),
    hasMore: later.at(-1)?.has_more ?? first.data?.has_more ?? false,
    isBusy,
    news,
    add,
    more,
    reload: first.reload,
  };
}

/** A task never returns from its end: an older answer may come later than the event. */
function latest(known: ReadonlyMap<string, Task>, task: Task): ReadonlyMap<string, Task> {
  const before = known.get(task.task_id);
  return before && hasEnded(before) ? known : new Map(known).set(task.task_id, task);
}

function merged(listed: readonly Task[], changed: ReadonlyMap<string, Task>): readonly Task[] {
  const known = new Set(listed.map(({ task_id }) => task_id));
  return [
    ...[...changed.values()].filter(({ task_id }) => !known.has(task_id)).reverse(),
    ...listed.map((task) => changed.get(task.task_id) ?? task),
  ];
}

/** A picture of the gallery. */
export interface Picture {
  readonly task: Task;
  /** Of the picture among those of its task. */
  readonly index: number;
}

/** Name of a picture in the address. */
export function nameOf({ task, index }: Picture): string {
  return index === 0 ? task.task_id : `${task.task_id}.${index}`;
}

/** All pictures of tasks, in the order of the gallery. */
export function picturesOf(tasks: readonly Task[]): readonly Picture[] {
  return tasks.flatMap((task) => filesOf(task).map((_, index) => ({ task, index })));
}

interface GalleryViewProps {
  readonly kind: Kind;
  readonly gallery: Gallery;
  readonly children: (tasks: readonly Task[]) => ComponentChildren;
}

/** The states of the gallery around its tiles. */
export function GalleryView({ kind, gallery, children }: GalleryViewProps) {
  const { tasks, error, hasMore, isBusy, news, more, reload } = gallery;
  return (
    <section class="results" aria-labelledby="results">
      <h2 id="results">Results</h2>
      <p class="hidden" role="status">
        {news}
      </p>
      {tasks === undefined && !error && <Loading />}
      {tasks?.length === 0 && (
        <Empty title={EMPTY[kind]}>
          <p>Describe it and choose Create. It appears here as soon as it is made.</p>
        </Empty>
      )}
      {tasks !== undefined && tasks.length > 0 && children(tasks)}
      {error && <ErrorState error={error} onRetry={tasks ? more : reload} />}
      {hasMore && !error && (
        <p>
          <Button onClick={more} isBusy={isBusy}>
            Show older
          </Button>
        </p>
      )}
    </section>
  );
}

const EMPTY: Readonly<Record<Kind, string>> = {
  image: 'No images yet',
  video: 'No videos yet',
  audio: 'No audio yet',
};
