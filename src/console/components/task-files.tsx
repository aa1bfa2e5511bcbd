import { filesOf, type Task } from '../api/tasks.ts';

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

function Medium({ type, url, name }: MediumProps) {
  if (type === 'image') return <img class="medium" src={url} alt={name} loading="lazy" />;
  // biome-ignore lint/a11y/useMediaCaption: a model's output has no captions
  if (type === 'video') return <video class="medium" src={url} controls aria-label={name} />;
  // biome-ignore lint/a11y/useMediaCaption: a model's output has no captions
  return <audio src={url} controls aria-label={name} />;
}
