import { useId } from 'preact/hooks';
import { Fault, TextField } from '../../components/field.tsx';
import type { Shape } from './shapes.ts';

interface ShapePickerProps {
  readonly shapes: readonly Shape[];
  readonly value: string;
  readonly onValue: (value: string) => void;
  /** Label of the empty value. */
  readonly automatic: string;
  /** Whether the provider may know further sizes. */
  readonly isOpen: boolean;
  readonly error: string | undefined;
}

/** Side of the square that the longest rectangle fills. */
const BOX = 40;

/** Sizes as rectangles of their proportions. */
export function ShapePicker({
  shapes,
  value,
  onValue,
  automatic,
  isOpen,
  error,
}: ShapePickerProps) {
  const name = useId();
  const isOther = value !== '' && !shapes.some((shape) => shape.value === value);
  return (
    <fieldset class="field">
      <legend>Size</legend>
      <div class="shapes">
        <label class="shape">
          <input type="radio" name={name} checked={value === ''} onChange={() => onValue('')} />
          <svg viewBox={`0 0 ${BOX} ${BOX}`} aria-hidden="true">
            <rect class="dashed" x="6" y="6" width={BOX - 12} height={BOX - 12} rx="3" />
          </svg>
          <span>{automatic}</span>
        </label>
        {shapes.map((shape) => (
          <ShapeChoice
            key={shape.value}
            name={name}
            shape={shape}
            isChosen={shape.value === value}
            onChoose={() => onValue(shape.value)}
          />
        ))}
      </div>
      {(isOpen || isOther) && (
        <TextField
          label="Another size"
          placeholder="1280x720 or 21:9"
          value={isOther ? value : ''}
          onValue={onValue}
          error={error}
        />
      )}
      {!isOpen && !isOther && <Fault text={error} />}
    </fieldset>
  );
}

interface ShapeChoiceProps {
  readonly name: string;
  readonly shape: Shape;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}

function ShapeChoice({ name, shape, isChosen, onChoose }: ShapeChoiceProps) {
  const [width, height] = [shape.width * (BOX - 2), shape.height * (BOX - 2)];
  return (
    <label class="shape">
      <input type="radio" name={name} checked={isChosen} onChange={onChoose} />
      <svg viewBox={`0 0 ${BOX} ${BOX}`} aria-hidden="true">
        <rect x={(BOX - width) / 2} y={(BOX - height) / 2} width={width} height={height} rx="2" />
      </svg>
      <span>
        {shape.ratio}
        {shape.pixels && <small>{shape.pixels}</small>}
      </span>
    </label>
  );
}
