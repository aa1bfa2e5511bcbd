import { useModels } from '../../api/resource.ts';
import { hasEnded } from '../../api/tasks.ts';
import { Link, type ViewProps } from '../../components/navigation.tsx';
import { Empty, Loaded } from '../../components/states.tsx';
import { KINDS, type Kind } from './draft.ts';
import { GalleryView, pictureName, picturesOf } from './gallery.tsx';
import { Lightbox } from './lightbox.tsx';
import { RequestForm } from './request-form.tsx';
import { type Studio, type StudioProps, useStudio } from './studio.ts';
import { Tile } from './tile.tsx';

const LABELS: Readonly<Record<Kind, string>> = { image: 'Image', video: 'Video', audio: 'Audio' };

/** Makes images, videos and audio: `create/video?model=ID`. */
export default function Create({ place, session }: ViewProps) {
  const kind = KINDS.find((one) => one === place.rest) ?? 'image';
  const models = useModels();
  return (
    <>
      <h1>Create</h1>
      <ul class="kinds" aria-label="Kind of media">
        {KINDS.map((one) => (
          <li key={one}>
            <Link to={`create/${one}`} aria-current={one === kind ? 'page' : undefined}>
              {LABELS[one]}
            </Link>
          </li>
        ))}
      </ul>
      <Loaded resource={models}>
        {(all) => {
          const own = all.filter(({ type }) => type === kind);
          return own.length === 0 ? (
            <Empty title={`No ${kind} models`}>
              <p>This key may use none. The server's owner adds models to the configuration.</p>
            </Empty>
          ) : (
            <StudioView
              key={kind}
              kind={kind}
              models={own}
              hasVideo={all.some(({ type }) => type === 'video')}
              query={place.query}
              account={session.account.id}
            />
          );
        }}
      </Loaded>
    </>
  );
}

/** The form for one kind of media, and what was made. */
function StudioView(props: StudioProps) {
  const studio = useStudio(props);
  return (
    <div class="stack top create">
      <RequestForm studio={studio} />
      <Results studio={studio} shown={props.query.get('show')} />
    </div>
  );
}

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
        const position = pictures.findIndex((picture) => pictureName(picture) === shown);
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
