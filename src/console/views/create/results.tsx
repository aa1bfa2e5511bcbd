import type { Model } from '../../api/resource.ts';
import { hasEnded, type Task, urlsOf } from '../../api/tasks.ts';
import { open } from '../../components/navigation.tsx';
import type { Draft, Kind } from './draft.ts';
import { type Gallery, GalleryView, nameOf, type Picture, picturesOf } from './gallery.tsx';
import { Lightbox } from './lightbox.tsx';
import type { CreateStore } from './store.ts';
import type { Submission } from './submission.ts';
import { Tile } from './tile.tsx';

interface ResultsProps {
  readonly kind: Kind;
  readonly model: Model;
  readonly store: CreateStore;
  readonly gallery: Gallery;
  readonly submission: Submission;
  readonly hasVideo: boolean;
  /** Name of the picture that is open. */
  readonly shown: string | null;
}

/** What was made: the gallery, and the picture that is open. */
export function Results(props: ResultsProps) {
  const { kind, model, store, gallery, submission, hasVideo, shown } = props;
  const { sent, drafts } = store.state;
  const use = (url: string, as: Draft['use'] | 'video') => {
    const input = { url, name: 'image of the gallery' };
    if (as === 'video') {
      store.replace('video', { ...drafts.video, inputs: [input] });
      open('create/video');
    } else {
      store.replace('image', { ...drafts.image, inputs: [input], use: as, mask: null });
      open('create/image', { replace: true });
      scrollTo(0, 0);
    }
  };
  return (
    <GalleryView kind={kind} gallery={gallery}>
      {(tasks) => (
        <>
          <ul class="tiles">
            {tasks.map((task) => (
              <Tile
                key={task.task_id}
                task={task}
                prompt={promptOf(task, sent)}
                isBlocked={submission.isBusy}
                onOpen={(index) => open(`create/${kind}?show=${nameOf({ task, index })}`)}
                onRetry={() => submission.retry(task)}
                onReuse={() => submission.reuse(task)}
              />
            ))}
          </ul>
          {kind === 'image' && (
            <OpenPicture
              pictures={picturesOf(tasks.filter(hasEnded))}
              name={shown}
              sent={sent}
              hasVideo={hasVideo}
              canEdit={model.endpoints.includes('/v1/images/edits')}
              onUse={use}
            />
          )}
        </>
      )}
    </GalleryView>
  );
}

/** The prompt of a task; undefined while only an event has named one of another tab or program. */
function promptOf(
  { task_id: id, request }: Task,
  sent: Readonly<Record<string, Draft>>,
): string | undefined {
  const prompt = request?.['prompt'];
  return typeof prompt === 'string' ? prompt : sent[id]?.values['prompt'];
}

interface OpenPictureProps {
  readonly pictures: readonly Picture[];
  /** Of the picture in the address. */
  readonly name: string | null;
  readonly sent: Readonly<Record<string, Draft>>;
  readonly hasVideo: boolean;
  readonly canEdit: boolean;
  readonly onUse: (url: string, use: Draft['use'] | 'video') => void;
}

/** The picture that the address names, if it is in the gallery. */
function OpenPicture({ pictures, name, sent, hasVideo, canEdit, onUse }: OpenPictureProps) {
  const position = pictures.findIndex((picture) => nameOf(picture) === name);
  const shown = pictures[position];
  if (!shown) return null;
  const { task, index } = shown;
  const url = urlsOf(task)[index]!;
  return (
    <Lightbox
      pictures={pictures}
      position={position}
      prompt={promptOf(task, sent)}
      canEdit={canEdit}
      canAnimate={hasVideo}
      onMove={(to) => open(`create/image?show=${nameOf(pictures[to]!)}`, { replace: true })}
      onClose={() => open('create/image', { replace: true })}
      onEdit={() => onUse(url, 'edit')}
      onReference={() => onUse(url, 'reference')}
      onAnimate={() => onUse(url, 'video')}
    />
  );
}
