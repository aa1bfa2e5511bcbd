import { filesOf, urlsOf } from '../../api/tasks.ts';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy.tsx';
import { Dialog, useKeys } from '../../components/dialog.tsx';
import { formatNumber } from '../../components/format.ts';
import { Link, open } from '../../components/navigation.tsx';
import { Medium } from '../../components/task-files.tsx';
import { canEdit } from './fields.ts';
import { type Picture, pictureName } from './gallery.tsx';
import type { Studio } from './studio.ts';

interface LightboxProps {
  readonly studio: Studio;
  readonly pictures: readonly Picture[];
  readonly position: number;
}

/** One picture as large as the window allows. Arrow keys, Home and End move between pictures. */
export function Lightbox({ studio, pictures, position }: LightboxProps) {
  const { task, index } = pictures[position]!;
  const url = filesOf(task)[index]!;
  const prompt = studio.promptOf(task);
  const last = pictures.length - 1;
  const move = (to: number) =>
    open(`create/image?show=${pictureName(pictures[to]!)}`, { replace: true });
  const startFrom = (use: Parameters<Studio['startFrom']>[1]) => () =>
    studio.startFrom(urlsOf(task)[index]!, use);
  useKeys((event) => {
    const targets: Readonly<Record<string, number>> = {
      ArrowRight: Math.min(last, position + 1),
      ArrowLeft: Math.max(0, position - 1),
      Home: 0,
      End: last,
    };
    const target = targets[event.key];
    if (target === undefined) return;
    event.preventDefault();
    move(target);
  });
  const title = `Image ${formatNumber(position + 1)} of ${formatNumber(pictures.length)}`;
  return (
    <Dialog title={title} onClose={() => open('create/image', { replace: true })}>
      <div class="stack gap-l lightbox">
        <Medium
          key={url}
          type="image"
          url={url}
          name={prompt?.slice(0, 200) ?? `image by ${task.model}`}
        />
        <div class="row">
          <Button disabled={position === 0} onClick={() => move(position - 1)}>
            Previous
          </Button>
          <Button disabled={position === last} onClick={() => move(position + 1)}>
            Next
          </Button>
          <span class="muted">{task.model}</span>
          <a class="button end" href={url} download>
            Save
          </a>
        </div>
        {prompt !== undefined && (
          <div class="row">
            <p class="clamped anywhere" dir="auto">
              {prompt}
            </p>
            <CopyButton text={prompt} label="prompt" />
          </div>
        )}
        <div class="row">
          {canEdit(studio.model) && <Button onClick={startFrom('edit')}>Edit this image</Button>}
          <Button onClick={startFrom('reference')}>Use as reference</Button>
          {studio.hasVideo && <Button onClick={startFrom('video')}>Make a video of it</Button>}
          <Link class="end" to={`tasks/${encodeURIComponent(task.task_id)}`}>
            Task
          </Link>
        </div>
      </div>
    </Dialog>
  );
}
