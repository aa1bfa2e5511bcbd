import { Button } from '../../components/button.tsx';
import { canEdit } from './fields.ts';
import { Inputs, type InputsProps } from './inputs.tsx';
import { isDrawn } from './mask.ts';

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
  ['reference', 'Make a new one that follows them'],
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
