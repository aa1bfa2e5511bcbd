import { useState } from 'preact/hooks';
import { filesOf, hasEnded, type Task } from '../../api/tasks.ts';
import { Button } from '../../components/button.tsx';
import { Link } from '../../components/navigation.tsx';
import { Medium, TaskState } from '../../components/task-files.tsx';

interface TileProps {
  readonly task: Task;
  /** Undefined for tasks of other tabs and programs. */
  readonly prompt: string | undefined;
  readonly isBlocked: boolean;
  /** Opens a picture of the task. */
  readonly onOpen: (index: number) => void;
  readonly onRetry: () => void;
  /** Takes the request of the task as the draft. */
  readonly onReuse: () => void;
}

/** One task in the gallery. */
export function Tile(props: TileProps) {
  const { task, prompt, isBlocked, onOpen, onRetry, onReuse } = props;
  const { task_id: id, type, status, error, model } = task;
  const files = filesOf(task);
  const caption = prompt ?? model;
  return (
    <li class="card tile">
      {!hasEnded(task) && (
        <div class="waiting">
          <progress aria-label={`The task of ${caption.slice(0, 80)} is ${status}`} />
          <span>{status === 'pending' ? 'In the queue…' : 'Being made…'}</span>
        </div>
      )}
      {error && (
        <div class="notice bad">
          <p>{error.message}</p>
          <p class="facts">
            <TaskState status={status} />
            <code>{error.code ?? error.type}</code>
          </p>
          <Button disabled={isBlocked} onClick={onRetry}>
            Try again
          </Button>
        </div>
      )}
      {type === 'image'
        ? files.length > 0 && <Thumbnails {...{ task, files, onOpen }} />
        : files.map((url, index) => (
            <Medium
              key={url}
              type={type}
              url={url}
              name={`${type} ${index + 1} of ${files.length} by ${model}`}
            />
          ))}
      <p class="caption" dir="auto" title={prompt?.slice(0, 500)}>
        {caption}
      </p>
      <div class="row actions">
        {type !== 'image' &&
          files.map((url, index) => (
            <a key={url} class="button quiet" href={url} download>
              Save{files.length > 1 ? ` ${index + 1}` : ''}
            </a>
          ))}
        <Button kind="quiet" onClick={onReuse}>
          Use its settings
        </Button>
        <Link class="button quiet end" to={`tasks/${encodeURIComponent(id)}`}>
          Task
        </Link>
      </div>
    </li>
  );
}

interface ThumbnailsProps extends Pick<TileProps, 'task' | 'onOpen'> {
  readonly files: readonly string[];
}

function Thumbnails({ task, files, onOpen }: ThumbnailsProps) {
  return (
    <div class={files.length > 1 ? 'made several' : 'made'}>
      {files.map((url, index) => (
        <Thumbnail
          key={url}
          url={url}
          name={`image ${index + 1} of ${files.length} by ${task.model}`}
          onOpen={() => onOpen(index)}
        />
      ))}
    </div>
  );
}

interface ThumbnailProps {
  readonly url: string;
  readonly name: string;
  readonly onOpen: () => void;
}

function Thumbnail({ url, name, onOpen }: ThumbnailProps) {
  const [isMissing, setMissing] = useState(false);
  if (isMissing) return <p class="missing">This image has been deleted.</p>;
  return (
    <button type="button" aria-label={`Open ${name}`} onClick={onOpen}>
      <img src={url} alt={name} loading="lazy" onError={() => setMissing(true)} />
    </button>
  );
}
