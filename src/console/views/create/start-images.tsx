import { Button } from '../../components/button.tsx';
import type { Draft } from './draft.ts';
import type { Situation } from './fields.ts';
import { Inputs, type Uploads } from './inputs.tsx';

interface StartImagesProps {
  readonly situation: Situation;
  readonly uploads: Uploads;
  readonly error: string | undefined;
  readonly onDraft: (changed: Partial<Draft>) => void;
  /** Opens the editor of the mask. */
  readonly onMask: () => void;
}

/** The images that a request starts from, and what becomes of them. */
export function StartImages({ situation, uploads, error, onDraft, onMask }: StartImagesProps) {
  const { kind, draft } = situation;
  const { inputs } = draft;
  return (
    <>
      <Inputs
        label={kind === 'image' ? 'Images to start from' : 'First frame'}
        hint={
          kind === 'image'
            ? 'At most 16. They stay on the server as long as results do.'
            : 'The first image is the first frame, where the model supports it.'
        }
        inputs={inputs}
        uploading={uploads.names}
        error={error}
        onFiles={uploads.add}
        onChange={(changed) => {
          const isSame = changed.inputs[0]?.url === inputs[0]?.url;
          // A mask belongs to the first image.
          onDraft(isSame ? changed : { ...changed, mask: null });
        }}
      />
      {kind === 'image' && inputs.length > 0 && <UseOfInputs {...{ situation, onDraft, onMask }} />}
    </>
  );
}

const USES = [
  ['edit', 'Change the first one'],
  ['reference', 'Make a new one that follows them'],
] as const;

type UseOfInputsProps = Pick<StartImagesProps, 'situation' | 'onDraft' | 'onMask'>;

/** Whether images are changed or followed, and where the first of them changes. */
function UseOfInputs({ situation, onDraft, onMask }: UseOfInputsProps) {
  const { draft, model } = situation;
  const { use, mask } = draft;
  const drawn = typeof mask === 'string' || (mask !== null && mask.shapes.length > 0);
  if (!model.endpoints.includes('/v1/images/edits')) return null;
  return (
    <fieldset class="field">
      <legend>What to do with them</legend>
      {USES.map(([value, label]) => (
        <label key={value} class="checkbox">
          <input
            type="radio"
            name="use"
            checked={use === value}
            onChange={() => onDraft({ use: value })}
          />
          <span>{label}</span>
        </label>
      ))}
      {use === 'edit' && (
        <div class="row">
          <Button onClick={onMask}>{drawn ? 'Change the mask' : 'Draw a mask'}</Button>
          {drawn ? (
            <Button kind="quiet" onClick={() => onDraft({ mask: null })}>
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
