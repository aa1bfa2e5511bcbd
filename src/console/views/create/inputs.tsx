import { useState } from 'preact/hooks';
import { isOwnFile, localUrlOf } from '../../api/tasks.ts';
import { Button, CloseButton, FileButton } from '../../components/button.tsx';
import { Fault } from '../../components/field.tsx';
import { useTransfers } from '../../components/files.ts';
import { showToast } from '../../components/toast.tsx';
import { type Input, type Kind, MAX_INPUTS } from './draft.ts';
import { canEdit } from './fields.ts';
import { isDrawn } from './mask.ts';
import type { Studio } from './studio.ts';
import { upload } from './submit.ts';

type Uploads = ReturnType<typeof useUploads>;

/** Uploads files of a draft one after another; the function waits for all of them. */
export function useUploads(onInput: (input: Input) => void) {
  /** Names of files that are being sent. */
  const [names, setNames] = useState<readonly string[]>([]);
  const add = async (files: readonly File[]) => {
    setNames((known) => [...known, ...files.map(({ name }) => name)]);
    for (const file of files) {
      try {
        onInput(await upload(file));
      } catch (error) {
        showToast((error as Error).message, { isFault: true });
      }
      setNames((known) => known.filter((_, index) => index !== known.indexOf(file.name)));
    }
  };
  return { names, add };
}

const FIRST_FRAME = [
  'First frame',
  'The first image is the first frame, where the model supports it.',
] as const;

const TEXTS: Readonly<Record<Kind, readonly [label: string, hint: string]>> = {
  image: ['Images to start from', 'At most 16. They stay on the server as long as results do.'],
  video: FIRST_FRAME,
  audio: FIRST_FRAME,
};

interface InputsProps {
  readonly studio: Studio;
  readonly uploads: Uploads;
  readonly error: string | undefined;
}

/** Images that a request starts from: chosen, dropped or pasted. */
function Inputs({ studio, uploads, error }: InputsProps) {
  const { inputs } = studio.draft;
  const [label, hint] = TEXTS[studio.kind];
  const [isOver, setOver] = useState(false);
  const room = MAX_INPUTS - inputs.length - uploads.names.length;
  const take = (files: readonly File[]) => {
    if (files.length > room) {
      showToast(`A request has at most ${MAX_INPUTS} images.`, { isFault: true });
    }
    uploads.add(files.slice(0, Math.max(0, room)));
  };
  const remove = (index: number) =>
    // A mask belongs to the first image.
    studio.change({ inputs: inputs.toSpliced(index, 1), ...(index === 0 && { mask: null }) });
  useTransfers(({ files }) => take([...files]), setOver);
  return (
    <fieldset class="field">
      <legend>{label}</legend>
      <div class={isOver ? 'drop over' : 'drop'}>
        {inputs.length > 0 && (
          <ul class="row gap-m thumbs" aria-label={label}>
            {inputs.map((input, index) => (
              <Thumb key={`${input.url} ${index}`} input={input} onRemove={() => remove(index)} />
            ))}
          </ul>
        )}
        <div class="row">
          <FileButton label="Image files to start from" disabled={room <= 0} onFiles={take}>
            Add images
          </FileButton>
          <span class="hint" role="status">
            {uploads.names.length > 0
              ? `Sending ${uploads.names.join(', ')}…`
              : 'or drop or paste them here'}
          </span>
        </div>
      </div>
      {inputs.length > 0 && <p class="hint">{hint}</p>}
      <Fault text={error} />
    </fieldset>
  );
}

function Thumb({ input, onRemove }: { readonly input: Input; readonly onRemove: () => void }) {
  const [isMissing, setMissing] = useState(!isOwnFile(input.url));
  return (
    <li class="removable">
      {isMissing ? (
        <span class="missing raised">{input.name}</span>
      ) : (
        <img
          src={localUrlOf(input.url)}
          alt={input.name}
          title={input.name}
          onError={() => setMissing(true)}
        />
      )}
      <CloseButton label={`Remove ${input.name}`} onClick={onRemove} />
    </li>
  );
}

interface StartImagesProps extends InputsProps {
  /** Opens the editor of the mask. */
  readonly onMask: () => void;
}

/** The images that a request starts from, and what becomes of them. */
export function StartImages({ onMask, ...props }: StartImagesProps) {
  const { kind, draft, model } = props.studio;
  const hasUse = kind === 'image' && draft.inputs.length > 0 && canEdit(model);
  return (
    <>
      <Inputs {...props} />
      {hasUse && <UseOfInputs studio={props.studio} onMask={onMask} />}
    </>
  );
}

const USES = [
  ['edit', 'Change the first one'],
  ['reference', 'Make a new image from them'],
] as const;

/** Whether images are changed or followed, and where the first of them changes. */
function UseOfInputs({ studio, onMask }: Pick<StartImagesProps, 'studio' | 'onMask'>) {
  const { use, mask } = studio.draft;
  const drawn = isDrawn(mask);
  return (
    <fieldset class="field">
      <legend>What to do with them</legend>
      {USES.map(([value, label]) => (
        <label key={value} class="checkbox">
          <input
            type="radio"
            name="use"
            checked={use === value}
            onChange={() => studio.change({ use: value })}
          />
          <span>{label}</span>
        </label>
      ))}
      {use === 'edit' && (
        <div class="row">
          <Button onClick={onMask}>{drawn ? 'Change the mask' : 'Draw a mask'}</Button>
          {drawn ? (
            <Button kind="quiet" onClick={() => studio.change({ mask: null })}>
              Remove the mask
            </Button>
          ) : (
            <span class="hint">to change only a part</span>
          )}
        </div>
      )}
    </fieldset>
  );
}
