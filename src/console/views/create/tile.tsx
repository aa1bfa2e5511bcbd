import { useState } from 'preact/hooks';
import { filesOf, hasEnded, type Task } from '../../api/tasks.ts';
import { Button } from '../../components/button.tsx';
import { Failure } from '../../components/fact-list.tsx';
import { Link, open } from '../../components/navigation.tsx';
import { Medium, TaskState } from '../../components/task-files.tsx';
import { pictureName } from './gallery.tsx';
import type { Studio } from './studio.ts';

/** One task in the gallery. */
export function Tile({ studio, task }: { readonly studio: Studio; readonly task: Task }) {
  const { task_id: id, type, status, error, model } = task;
  const files = filesOf(task);
  const nameOfFile = (index: number) => `${type} ${index + 1} of ${files.length} by ${model}`;
  const prompt = studio.promptOf(task);
  const caption = prompt ?? model;
  return (
    <li class="card tile">
      {!hasEnded(task) && (
        <div class="waiting raised">
          <progress aria-label={`The task of ${caption.slice(0, 80)} is ${status}`} />
          <span>{status === 'pending' ? 'In the queue…' : 'Being made…'}</span>
        </div>
      )}
      {error && (
        <Failure error={error}>
          <TaskState status={status} />
          <Button disabled={studio.isBusy} onClick={() => studio.retry(task)}>
            Try again
          </Button>
        </Failure>
      )}
      {type === 'image' && files.length > 0 && (
        <div class={files.length > 1 ? 'made several' : 'made'}>
          {files.map((url, index) => (
            <Thumbnail
              key={url}
              url={url}
              name={nameOfFile(index)}
              onOpen={() => open(`create/image?show=${pictureName({ task, index })}`)}
            />
          ))}
        </div>
      )}
      {type !== 'image' &&
        files.map((url, index) => (
          <Medium key={url} type={type} url={url} name={nameOfFile(index)} />
        ))}
      <p class="clamped anywhere" dir="auto" title={prompt?.slice(0, 500)}>
        {caption}
      </p>
      <div class="row gap-0">
        {type !== 'image' &&
          files.map((url, index) => (
            <a key={url} class="button quiet" href={url} download>
              Save{files.length > 1 ? ` ${index + 1}` : ''}
            </a>
          ))}
        <Button kind="quiet" onClick={() => studio.reuse(task)}>
          Use its settings
        </Button>
        <Link class="button quiet end" to={`tasks/${encodeURIComponent(id)}`}>
          Task
        </Link>
      </div>
    </li>
  );
}

interface ThumbnailProps {
  readonly url: string;
  readonly name: string;
  readonly onOpen: () => void;
}

function Thumbnail({ url, name, onOpen }: ThumbnailProps) {
  const [isMissing, setMissing] = useState(false);
  if (isMissing) return <p class="missing raised">This image has been deleted.</p>;
  return (
    <button type="button" class="raised" aria-label={`Open ${name}`} onClick={onOpen}>
      <img class="cover" src={url} alt={name} loading="lazy" onError={() => setMissing(true)} />
    </button>
  );
}
