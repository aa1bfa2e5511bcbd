import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { type ApiError, sendJson } from '../../api/request.ts';
import { type Action, useAction, useJson, useRefresh } from '../../api/resource.ts';
import { filesOf, hasEnded, type Task, type TaskList, useTaskEvents } from '../../api/tasks.ts';
import { OlderButton } from '../../components/older.tsx';
import { Empty, ErrorState, Loading } from '../../components/states.tsx';
import type { Kind } from './draft.ts';
import { NO_PAGES, withFirst, withNext, withTask } from './task-pages.ts';

const PAGE = 24;

/** Interval at which tasks are read again that are open, in case the stream of events stands still. */
const REFRESH_MS = 20_000;

export interface Gallery {
  /** Newest first; undefined until they are loaded. */
  readonly tasks: readonly Task[] | undefined;
  /** Why they were not loaded. */
  readonly error: ApiError | undefined;
  readonly hasMore: boolean;
  readonly older: Action<[]>;
  /** What a screen reader says about the last end of a task. */
  readonly news: string;
  add(task: Task): void;
  reload(): void;
}

/** The tasks of a kind, live. @param onEnd called when a task has ended */
export function useGallery(kind: Kind, onEnd: () => void): Gallery {
  const path = `v1/tasks?type=${kind}&include=request&limit=${PAGE}`;
  const first = useJson<TaskList>(path);
  const [pages, setPages] = useState(NO_PAGES);
  const [news, setNews] = useState('');
  const { tasks, hasMore, isLoaded } = pages;
  const add = (task: Task) => setPages((known) => withTask(known, task));
  const take = (task: Task) => {
    if (task.type !== kind) return;
    add(task);
    if (!hasEnded(task)) return;
    const text = `${kind} task ${task.status}${task.error ? `: ${task.error.message}` : ''}`;
    // Equal texts would not be read again.
    setNews((before) => (before === text ? `${text}.` : text));
    onEnd();
  };
  useEffect(() => {
    if (first.data) setPages((known) => withFirst(known, first.data!));
  }, [first.data]);
  useTaskEvents(take, first.reload);
  // Events of tasks that other programs create do not have the prompt.
  const isChanging = tasks.slice(0, PAGE).some((task) => !hasEnded(task) || !task.request);
  useRefresh(() => isChanging && first.reload(), REFRESH_MS);
  const older = useAction(async () => {
    const after = encodeURIComponent(tasks.at(-1)!.task_id);
    const page = await sendJson<TaskList>(`${path}&after=${after}`);
    setPages((known) => withNext(known, page));
  });
  return {
    tasks: isLoaded ? tasks : undefined,
    error: isLoaded ? undefined : first.error,
    hasMore,
    older,
    news,
    add,
    reload: first.reload,
  };
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
  const { tasks, error, hasMore, older, news, reload } = gallery;
  return (
    <section class="stack results" aria-labelledby="results">
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
      {error && <ErrorState error={error} onRetry={reload} />}
      <OlderButton older={older} hasMore={hasMore}>
        Show older
      </OlderButton>
    </section>
  );
}

const EMPTY: Readonly<Record<Kind, string>> = {
  image: 'No images yet',
  video: 'No videos yet',
  audio: 'No audio yet',
};
