import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useList } from '../../api/list.ts';
import { useRefresh } from '../../api/resource.ts';
import { filesOf, hasEnded, TASKS, type Task } from '../../api/tasks.ts';
import { OlderButton } from '../../components/list.tsx';
import { Empty, ErrorState, Loading } from '../../components/states.tsx';
import type { Kind } from './draft.ts';

const PAGE = 24;

/** Interval at which tasks are read again that are open, in case the stream of events stands still. */
const REFRESH_MS = 20_000;

export type Gallery = ReturnType<typeof useGallery>;

/** The tasks of a kind, live. @param onEnd called when a task has ended */
export function useGallery(kind: Kind, onEnd: () => void) {
  const path = `v1/tasks?type=${kind}&include=request&limit=${PAGE}`;
  /** What a screen reader says about the last end of a task. */
  const [news, setNews] = useState('');
  const isOfKind = ({ type }: Task) => type === kind;
  const onItem = (task: Task) => {
    if (!isOfKind(task) || !hasEnded(task)) return;
    const text = `${kind} task ${task.status}${task.error ? `: ${task.error.message}` : ''}`;
    // Equal texts would not be read again.
    setNews((before) => (before === text ? `${text}.` : text));
    onEnd();
  };
  const list = useList(path, { ...TASKS, admits: isOfKind, onItem });
  // Events of tasks that other programs create do not have the prompt.
  const isChanging = list.items.slice(0, PAGE).some((task) => !hasEnded(task) || !task.request);
  useRefresh(() => isChanging && list.reload(), REFRESH_MS);
  return { ...list, news };
}

/** A picture of the gallery. */
export interface Picture {
  readonly task: Task;
  /** Of the picture among those of its task. */
  readonly index: number;
}

/** Name of a picture in the address. */
export function pictureName({ task, index }: Picture): string {
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
  const { data: tasks, error, hasMore, older, news, reload } = gallery;
  return (
    <section class="stack gap-l results" aria-labelledby="results">
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
