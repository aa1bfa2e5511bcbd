import { useId } from 'preact/hooks';
import { Fault, TextField } from '../../components/field.tsx';
import { isEdit } from './fields.ts';
import { type Shape, shapesOf } from './shapes.ts';
import type { Studio } from './studio.ts';

/** Side of the square that the longest rectangle fills. */
const BOX = 40;

interface ShapePickerProps {
  readonly studio: Studio;
  readonly error: string | undefined;
}

/** Sizes as rectangles of their proportions. */
export function ShapePicker({ studio, error }: ShapePickerProps) {
  const { kind, model, draft, fill } = studio;
  const name = useId();
  const shapes = shapesOf(kind, model.sizes);
  const chosen = draft.values['size'] ?? '';
  const onValue = (size: string) => fill({ size });
  const isOther = chosen !== '' && !shapes.some(({ value }) => value === chosen);
  // The provider may know further sizes than the catalog.
  const hasField = model.sizes === null || isOther;
  const choices: readonly { value: string; label: string; shape?: Shape }[] = [
    { value: '', label: isEdit(studio) ? 'As the image' : 'Automatic' },
    ...shapes.map((shape) => ({ value: shape.value, label: shape.ratio, shape })),
  ];
  return (
    <fieldset class="field">
      <legend>Size</legend>
      <div class="shapes">
        {choices.map(({ value, label, shape }) => (
          <label key={value} class="shape">
            <input
              type="radio"
              name={name}
              checked={value === chosen}
              onChange={() => onValue(value)}
            />
            <svg viewBox={`0 0 ${BOX} ${BOX}`} aria-hidden="true">
              {shape ? (
                <rect {...centred(shape.width * (BOX - 2), shape.height * (BOX - 2))} rx="2" />
              ) : (
                <rect class="dashed" {...centred(BOX - 12, BOX - 12)} rx="3" />
              )}
            </svg>
            <span>
              {label}
              {shape?.pixels && <small>{shape.pixels}</small>}
            </span>
          </label>
        ))}
      </div>
      {hasField ? (
        <TextField
          label="Another size"
          placeholder="1280x720 or 21:9"
          value={isOther ? chosen : ''}
          onValue={onValue}
          error={error}
        />
      ) : (
        <Fault text={error} />
      )}
    </fieldset>
  );
}

function centred(width: number, height: number) {
  return { x: (BOX - width) / 2, y: (BOX - height) / 2, width, height };
}
