import { useState } from 'preact/hooks';
import { filesOf, type Task } from '../api/tasks.ts';
import { Icon } from './icon.tsx';

interface TaskFilesProps {
  readonly task: Task;
}

/** What a task made: pictures, or players for video and sound, each with a link to save it. */
export function TaskFiles({ task }: TaskFilesProps) {
  const files = filesOf(task);
  return (
    <ul class="columns">
      {files.map((url, index) => {
        const name = `${task.type} ${index + 1} of ${files.length}`;
        return (
          <li key={url} class="card">
            <Medium type={task.type} url={url} name={`${name} by ${task.model}`} />
            <a class="button" href={url} download aria-label={`Save ${name}`}>
              Save
            </a>
          </li>
        );
      })}
    </ul>
  );
}

interface MediumProps {
  readonly type: Task['type'];
  readonly url: string;
  readonly name: string;
}

/** Ends of files that browsers show as pictures, whatever the type of the task: the sandbox's videos are WebP. */
const PICTURES = /\.(png|jpe?g|webp|gif|avif)$/;

/** A picture or a player, and a note where the file has been deleted. */
export function Medium({ type, url, name }: MediumProps) {
  const [isMissing, setMissing] = useState(false);
  const onError = () => setMissing(true);
  if (isMissing) {
    return <p class="missing raised">This file cannot be shown. It may have been deleted.</p>;
  }
  if (type === 'image' || PICTURES.test(url)) {
    return <img class="medium" src={url} alt={name} loading="lazy" onError={onError} />;
  }
  if (type === 'video') {
    // biome-ignore lint/a11y/useMediaCaption: a model's output has no captions
    return <video class="medium" src={url} controls aria-label={name} onError={onError} />;
  }
  // biome-ignore lint/a11y/useMediaCaption: a model's output has no captions
  return <audio src={url} controls aria-label={name} onError={onError} />;
}

const TONES: Readonly<Record<Task['status'], string>> = {
  pending: '',
  processing: '',
  completed: 'good',
  failed: 'bad',
  expired: 'warn',
};

/** The state of a task as a word. */
export function TaskState({ status }: Pick<Task, 'status'>) {
  return <span class={`badge ${TONES[status]}`}>{status}</span>;
}

/** The first picture of a task, small; a drawing of its type where there is none. */
export function Thumbnail({ task }: TaskFilesProps) {
  const [isMissing, setMissing] = useState(false);
  const url = filesOf(task).find((one) => task.type === 'image' || PICTURES.test(one));
  return (
    <span class="thumbnail raised">
      {url !== undefined && !isMissing ? (
        <img class="cover" src={url} alt="" loading="lazy" onError={() => setMissing(true)} />
      ) : (
        <Icon name={task.type === 'image' ? 'images' : task.type} />
      )}
    </span>
  );
}
