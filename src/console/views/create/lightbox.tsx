import { filesOf } from '../../api/tasks.ts';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy.tsx';
import { Dialog, useKeys } from '../../components/dialog.tsx';
import { formatNumber } from '../../components/format.ts';
import { Link } from '../../components/navigation.tsx';
import { Medium } from '../../components/task-files.tsx';
import type { Picture } from './gallery.tsx';

interface LightboxProps {
  readonly pictures: readonly Picture[];
  readonly position: number;
  readonly prompt: string | undefined;
  readonly canEdit: boolean;
  readonly canAnimate: boolean;
  readonly onMove: (position: number) => void;
  readonly onClose: () => void;
  readonly onEdit: () => void;
  readonly onReference: () => void;
  readonly onAnimate: () => void;
}

/** One picture as large as the window allows. Arrow keys, Home and End move between pictures. */
export function Lightbox(props: LightboxProps) {
  const { pictures, position, prompt, onMove, onClose } = props;
  const { task, index } = pictures[position]!;
  const url = filesOf(task)[index]!;
  const last = pictures.length - 1;
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
    onMove(target);
  });
  const title = `Image ${formatNumber(position + 1)} of ${formatNumber(pictures.length)}`;
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="stack lightbox">
        <Medium
          key={url}
          type="image"
          url={url}
          name={prompt?.slice(0, 200) ?? `image by ${task.model}`}
        />
        <div class="row">
          <Button disabled={position === 0} onClick={() => onMove(position - 1)}>
            Previous
          </Button>
          <Button disabled={position === last} onClick={() => onMove(position + 1)}>
            Next
          </Button>
          <span class="muted">{task.model}</span>
          <a class="button end" href={url} download>
            Save
          </a>
        </div>
        {prompt !== undefined && (
          <div class="row">
            <p class="caption" dir="auto">
              {prompt}
            </p>
            <CopyButton text={prompt} label="prompt" />
          </div>
        )}
        <div class="row">
          {props.canEdit && <Button onClick={props.onEdit}>Edit this image</Button>}
          <Button onClick={props.onReference}>Use as reference</Button>
          {props.canAnimate && <Button onClick={props.onAnimate}>Make a video of it</Button>}
          <Link class="end" to={`tasks/${encodeURIComponent(task.task_id)}`}>
            Task
          </Link>
        </div>
      </div>
    </Dialog>
  );
}
