import { useState } from 'preact/hooks';
import { Button, FileButton } from '../../components/button.tsx';
import { useTransfers } from '../../components/files.ts';
import { sampleFile } from '../../components/sample.ts';
import { showToast } from '../../components/toast.tsx';
import { type Chosen, chosenOf, filesOfTransfer, withoutOthers } from './intake.ts';
import { type ImagesStore, MAX_ITEMS } from './store.ts';

/** Files that a dialog offers; browsers know no type for some of them. */
const ACCEPTED =
  'image/*,.avif,.bmp,.heic,.heif,.hif,.ico,.jxl,.pdf,.tif,.tiff,.dng,.cr2,.cr3,.nef,.nrw,.arw,.sr2,.orf,.rw2,.raf,.pef,.x3f';

interface DropZoneProps {
  readonly store: ImagesStore;
  /** Whether there are files already, so that less space is needed. */
  readonly isSmall: boolean;
}

/** Takes files and folders: dropped anywhere on the page, pasted, or chosen. */
export function DropZone({ store, isSmall }: DropZoneProps) {
  const [isOver, setOver] = useState(false);
  const add = (chosen: readonly Chosen[]) => addTo(store, chosen);
  const addChosen = (list: readonly File[]) => add(chosenOf(list));
  useTransfers((transfer) => void filesOfTransfer(transfer).then(add), setOver);
  return (
    <section
      class={`drop${isSmall ? ' small' : ''}${isOver ? ' over' : ''}`}
      aria-label="Add images"
    >
      <p>
        <strong>
          {isOver ? 'Drop to add' : isSmall ? 'Drop more' : 'Drop images or folders here'}
        </strong>
        {!isOver && ', paste, or'}
      </p>
      <div class="row">
        <FileButton
          label="Image files"
          accept={ACCEPTED}
          kind={isSmall ? 'plain' : 'primary'}
          onFiles={addChosen}
        >
          Choose files
        </FileButton>
        <FileButton label="Folder of images" isFolder onFiles={addChosen}>
          Choose a folder
        </FileButton>
        {!isSmall && (
          <Button
            kind="quiet"
            onClick={async () => {
              const file = await sampleFile('');
              add([{ file, path: file.name }]);
            }}
          >
            Use a sample
          </Button>
        )}
      </div>
    </section>
  );
}

function addTo(store: ImagesStore, chosen: readonly Chosen[]): void {
  const { images, others } = withoutOthers(chosen);
  const { known, beyond } = store.add(images);
  const notes = [
    others > 0 && `${others} other files in the folder`,
    known > 0 && `${known} already in the list`,
    beyond > 0 && `${beyond} beyond the limit of ${MAX_ITEMS} (use the command line for more)`,
    chosen.length === 0 && 'no files found',
  ].filter(Boolean);
  if (notes.length > 0) showToast(`Left out: ${notes.join(', ')}.`);
}
