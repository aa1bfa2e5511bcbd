import { useEffect, useRef, useState } from 'preact/hooks';
import { localUrlOf } from '../../api/tasks.ts';
import { Button } from '../../components/button.tsx';
import { Dialog, useKeys } from '../../components/dialog.tsx';
import { Form, TextField } from '../../components/field.tsx';
import { formatPercent } from '../../components/format.ts';
import type { Input } from './draft.ts';
import { type Mask, type MaskShape, scaledMask, shareOf } from './mask.ts';

interface MaskEditorProps {
  readonly image: Input;
  /** The mask so far; of another size if it was drawn on another image. */
  readonly mask: Mask | null;
  readonly onMask: (mask: Mask | null) => void;
  readonly onClose: () => void;
}

/** Longest side of the canvas: more would only be scaled down on the screen. */
const CANVAS_SIDE = 1024;

const COLOUR = '#e0218a';

/** Draws where an image is to change. Each change is kept at once. */
export function MaskEditor({ image, mask, onMask, onClose }: MaskEditorProps) {
  const [size, setSize] = useState<{ width: number; height: number }>();
  const [isMissing, setMissing] = useState(false);
  const [brush, setBrush] = useState(8);
  const [isErased, setErased] = useState(false);
  const [past, setPast] = useState<readonly (readonly MaskShape[])[]>([]);
  const isSame = size && mask && mask.width === size.width && mask.height === size.height;
  const current: Mask | null = size ? (isSame ? mask : { ...size, shapes: [] }) : null;
  const setShapes = (shapes: readonly MaskShape[]) => {
    setPast([...past, current!.shapes]);
    onMask({ ...current!, shapes });
  };
  const undo = () => {
    // What was drawn before the editor was opened goes shape by shape.
    onMask({ ...current!, shapes: past.at(-1) ?? current!.shapes.slice(0, -1) });
    setPast(past.slice(0, -1));
  };
  useKeys((event) => {
    const isField = event.target instanceof HTMLInputElement && event.target.type !== 'range';
    if (event.key.toLowerCase() !== 'z' || !(event.ctrlKey || event.metaKey) || isField) return;
    event.preventDefault();
    if (current) undo();
  });
  return (
    <Dialog title="Where to change the image" onClose={onClose}>
      <div class="stack">
        <div class="row">
          <label class="row">
            Brush
            <input
              type="range"
              min="1"
              max="30"
              value={brush}
              onInput={({ currentTarget }) => setBrush(Number(currentTarget.value))}
            />
          </label>
          <Button aria-pressed={!isErased} onClick={() => setErased(false)}>
            Paint
          </Button>
          <Button aria-pressed={isErased} onClick={() => setErased(true)}>
            Erase
          </Button>
          <Button disabled={!current?.shapes.length && past.length === 0} onClick={undo}>
            Undo
          </Button>
          <Button disabled={!current?.shapes.length} onClick={() => setShapes([])}>
            Clear
          </Button>
        </div>
        {isMissing ? (
          <p class="notice bad">The image is no longer on the server. Add it again.</p>
        ) : (
          <div class="mask raised">
            <img
              src={localUrlOf(image.url)}
              alt={image.name}
              onLoad={({ currentTarget: { naturalWidth: width, naturalHeight: height } }) =>
                setSize({ width, height })
              }
              onError={() => setMissing(true)}
            />
            {current && (
              <MaskCanvas
                mask={current}
                radius={(Math.max(current.width, current.height) * brush) / 200}
                isErased={isErased}
                onShape={(shape) => setShapes([...current.shapes, shape])}
              />
            )}
          </div>
        )}
        {current && (
          <>
            <p role="status" class="muted">
              {current.shapes.length === 0
                ? 'Paint what should change. Without paint the whole image may change.'
                : `${formatPercent(shareOf(current))} of the image may change.`}
            </p>
            <RectangleForm
              key={`${current.width} ${current.height}`}
              mask={current}
              isErased={isErased}
              onShape={(shape) => setShapes([...current.shapes, shape])}
            />
          </>
        )}
        <div class="row">
          <Button kind="primary" onClick={onClose}>
            Done
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

interface MaskCanvasProps {
  readonly mask: Mask;
  /** Of the brush, in pixels of the image. */
  readonly radius: number;
  readonly isErased: boolean;
  readonly onShape: (shape: MaskShape) => void;
}

function MaskCanvas({ mask, radius, isErased, onShape }: MaskCanvasProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const points = useRef<number[] | null>(null);
  const factor = Math.min(1, CANVAS_SIDE / Math.max(mask.width, mask.height));
  const stroke = (): MaskShape => ({
    points: [...points.current!],
    radius: Math.max(1, Math.round(radius)),
    isErased,
  });
  const draw = () => {
    const shapes = points.current ? [...mask.shapes, stroke()] : mask.shapes;
    paint(canvas.current!, { ...mask, shapes }, factor);
  };
  useEffect(draw);
  const add = ({ clientX, clientY }: PointerEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    const x = Math.round(((clientX - box.left) / box.width) * mask.width);
    const y = Math.round(((clientY - box.top) / box.height) * mask.height);
    const list = points.current!;
    if (list.at(-2) === x && list.at(-1) === y) return;
    list.push(x, y);
    draw();
  };
  const end = () => {
    if (points.current === null) return;
    const shape = stroke();
    points.current = null;
    onShape(shape);
  };
  return (
    <canvas
      ref={canvas}
      role="img"
      aria-label="Mask. By keyboard, use the fields of the rectangle below."
      width={Math.max(1, Math.round(mask.width * factor))}
      height={Math.max(1, Math.round(mask.height * factor))}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        points.current = [];
        add(event);
      }}
      onPointerMove={(event) => points.current && add(event)}
      onPointerUp={end}
      onPointerCancel={end}
    />
  );
}

/** Draws a mask for the eye; the file is computed by `alphaOf`. */
function paint(canvas: HTMLCanvasElement, mask: Mask, factor: number): void {
  const context = canvas.getContext('2d')!;
  const { shapes } = scaledMask(mask, factor);
  context.globalCompositeOperation = 'source-over';
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = COLOUR;
  context.strokeStyle = COLOUR;
  context.lineCap = 'round';
  context.lineJoin = 'round';
  for (const shape of shapes) {
    context.globalCompositeOperation = shape.isErased ? 'destination-out' : 'source-over';
    const { points, radius } = shape;
    if (radius === null) {
      const [left, top, right, bottom] = points as [number, number, number, number];
      context.fillRect(left, top, right - left, bottom - top);
      continue;
    }
    context.lineWidth = radius * 2;
    context.beginPath();
    context.moveTo(points[0]!, points[1]!);
    // A line of no length is drawn as a dot.
    context.lineTo(points[0]!, points[1]!);
    for (let at = 2; at < points.length; at += 2) context.lineTo(points[at]!, points[at + 1]!);
    context.stroke();
  }
}

interface RectangleFormProps {
  readonly mask: Mask;
  readonly isErased: boolean;
  readonly onShape: (shape: MaskShape) => void;
}

/** Paints by numbers, for the keyboard and for exact edges. */
function RectangleForm({ mask, isErased, onShape }: RectangleFormProps) {
  const { width, height } = mask;
  const [values, setValues] = useState([0, 0, width, height].map(String));
  const submit = () => {
    const [x, y, across, down] = values.map(Number) as [number, number, number, number];
    if (![x, y, across, down].every(Number.isFinite) || across <= 0 || down <= 0) return;
    onShape({ points: [x, y, x + across, y + down], radius: null, isErased });
  };
  return (
    <Form onSubmit={submit}>
      <fieldset class="rectangle">
        <legend>Rectangle, in pixels of {`${width} × ${height}`}</legend>
        {['Left', 'Top', 'Width', 'Height'].map((label, index) => (
          <TextField
            key={label}
            label={label}
            type="number"
            min={index < 2 ? 0 : 1}
            max={index % 2 === 0 ? width : height}
            step={1}
            value={values[index]!}
            onValue={(value) => setValues(values.with(index, value))}
          />
        ))}
        <Button type="submit">{isErased ? 'Erase rectangle' : 'Paint rectangle'}</Button>
      </fieldset>
    </Form>
  );
}
