import { hasEnded } from '../../api/tasks.ts';
import { GalleryView, nameOf, picturesOf } from './gallery.tsx';
import { Lightbox } from './lightbox.tsx';
import type { Studio } from './studio.ts';
import { Tile } from './tile.tsx';

interface ResultsProps {
  readonly studio: Studio;
  /** Name of the picture that is open. */
  readonly shown: string | null;
}

/** What was made: the gallery, and the picture that is open. */
export function Results({ studio, shown }: ResultsProps) {
  const { kind, gallery } = studio;
  return (
    <GalleryView kind={kind} gallery={gallery}>
      {(tasks) => {
        const pictures = kind === 'image' ? picturesOf(tasks.filter(hasEnded)) : [];
        const position = pictures.findIndex((picture) => nameOf(picture) === shown);
        return (
          <>
            <ul class="tiles">
              {tasks.map((task) => (
                <Tile key={task.task_id} studio={studio} task={task} />
              ))}
            </ul>
            {position >= 0 && <Lightbox {...{ studio, pictures, position }} />}
          </>
        );
      }}
    </GalleryView>
  );
}
