import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Loading } from '../../components/states.tsx';
import type { Output } from './answer.ts';
import { type Picture, sizeText, stageHeight, usePicture } from './picture.ts';

/** Scales of a picture: 0 fits it into the space, others are CSS pixels for one of the result. */
const SCALES = [
  [0, 'Fit'],
  [1, '1:1'],
  [2, '2:1'],
  [4, '4:1'],
] as const;

/** An image before and after: under a slider if both have one shape, else side by side. */
export function Comparison({ before, after }: { readonly before: Blob; readonly after: Output }) {
  const original = usePicture(before);
  const result = usePicture(after.blob);
  const [scale, setScale] = useState(0);
  if (original === undefined || result === undefined) return <Loading label="Decoding" />;
  return (
    <div class="comparison">
      {original && result && haveOneShape(original, result) ? (
        <Slider before={original} after={result} scale={scale} />
      ) : (
        <div class="columns sides" style={{ '--least': '14rem' }}>
          <Side title="Before" picture={original} scale={scale} />
          <Side title="After" picture={result} scale={scale} />
        </div>
      )}
      {(original ?? result) && (
        <fieldset class="row scales">
          <legend class="hidden">Size of the pictures</legend>
          {SCALES.map(([value, label]) => (
            <button
              key={value}
              type="button"
              class="button quiet"
              aria-pressed={scale === value}
              onClick={() => setScale(value)}
            >
              {label}
            </button>
          ))}
        </fieldset>
      )}
    </div>
  );
}

/** Whether two pictures have one ratio of sides, but for rounding to whole pixels. */
function haveOneShape(one: Picture, other: Picture): boolean {
  const difference = Math.abs(one.width * other.height - other.width * one.height);
  return difference <= Math.max(one.width, one.height, other.width, other.height);
}

interface SideProps {
  readonly title: string;
  readonly picture: Picture | null;
  readonly scale: number;
}

function Side({ title, picture, scale }: SideProps) {
  return (
    <figure>
      <figcaption class="hint">{picture ? `${title}, ${sizeText(picture)}` : title}</figcaption>
      {picture ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by arrow keys
        <section class="stage" aria-label={`${title}, picture`} tabIndex={0}>
          <img
            src={picture.url}
            alt={title}
            style={
              scale === 0 ? undefined : { maxWidth: 'none', width: `${picture.width * scale}px` }
            }
            class={scale === 0 ? 'fitted' : undefined}
          />
        </section>
      ) : (
        <p class="stage muted">
          This browser cannot show this format. The file itself is complete.
        </p>
      )}
    </figure>
  );
}

/** Percent by which keys move the slider. */
const STEP = 1;
const LARGE_STEP = 10;

interface SliderProps {
  readonly before: Picture;
  readonly after: Picture;
  readonly scale: number;
}

/** Two pictures in one place. What is left of the handle is before, what is right of it after. */
function Slider({ before, after, scale }: SliderProps) {
  const [split, setSplit] = useState(50);
  const stage = useRef<HTMLDivElement>(null);
  const picture = useRef<HTMLDivElement>(null);
  /** Cuts both pictures below the handle, wherever they are scrolled to. */
  const cut = () => {
    // A scroll event may arrive after the pictures were replaced.
    if (!stage.current || !picture.current) return;
    const space = stage.current.getBoundingClientRect();
    const { left } = picture.current.getBoundingClientRect();
    const x = space.left + (space.width * split) / 100 - left;
    picture.current.style.setProperty('--cut', `${x}px`);
  };
  useLayoutEffect(cut);
  const latest = useRef(cut);
  latest.current = cut;
  useEffect(() => {
    const observer = new ResizeObserver(() => latest.current());
    observer.observe(stage.current!);
    return () => observer.disconnect();
  }, []);
  const move = (value: number) => setSplit(Math.min(100, Math.max(0, value)));
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.shiftKey ? LARGE_STEP : STEP;
    const targets: Readonly<Record<string, number>> = {
      ...{ ArrowRight: split + step, ArrowUp: split + step },
      ...{ ArrowLeft: split - step, ArrowDown: split - step },
      ...{ PageUp: split + LARGE_STEP, PageDown: split - LARGE_STEP, Home: 0, End: 100 },
    };
    const target = targets[event.key];
    if (target === undefined) return;
    event.preventDefault();
    move(target);
  };
  const onPointer = (event: PointerEvent) => {
    const handle = event.currentTarget as HTMLElement;
    if (event.type === 'pointerdown') handle.setPointerCapture(event.pointerId);
    if (!handle.hasPointerCapture(event.pointerId)) return;
    const { left, width } = stage.current!.getBoundingClientRect();
    move(((event.clientX - left) / width) * 100);
  };
  const ratio = after.width / after.height;
  const width =
    scale === 0
      ? `min(100cqw, ${ratio} * 100cqh, ${Math.max(before.width, after.width)}px)`
      : `${after.width * scale}px`;
  const space = { maxHeight: stageHeight(after, scale) };
  return (
    <div class="slider" ref={stage}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by arrow keys */}
      <section class="stage" aria-label="Picture" tabIndex={0} style={space} onScroll={cut}>
        <div
          class={scale >= 2 ? 'picture exact' : 'picture'}
          ref={picture}
          style={{ width, aspectRatio: `${after.width} / ${after.height}` }}
        >
          <img class="before" src={before.url} alt="Before" />
          <img class="after" src={after.url} alt="After" />
        </div>
      </section>
      <span class="tag">Before, {sizeText(before)}</span>
      <span class="tag end">After, {sizeText(after)}</span>
      <div
        class="handle"
        role="slider"
        tabIndex={0}
        aria-label="Border between before and after"
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(split)}
        aria-valuetext={`${Math.round(split)} % of the width shows the picture before`}
        style={{ left: `${split}%` }}
        onKeyDown={onKeyDown}
        onPointerDown={onPointer}
        onPointerMove={onPointer}
      />
    </div>
  );
}
