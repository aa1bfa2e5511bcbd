import { useEffect, useRef, useState } from 'preact/hooks';
import { formatTime } from './format.ts';

interface Series {
  readonly name: string;
  /** A number for each time; null for none. */
  readonly values: readonly (number | null)[];
  readonly isBad?: boolean;
}

interface ChartProps {
  /** What the numbers are: `Credits`. */
  readonly label: string;
  /** Starts of the bars, in seconds since the epoch. */
  readonly times: readonly number[];
  /** Bars are stacked. */
  readonly series: readonly Series[];
  readonly kind?: 'bars' | 'lines';
  readonly format: (value: number) => string;
  /** Name of a time in the tip, and on the axis. */
  readonly timeName?: (seconds: number) => string;
  readonly tickName?: (seconds: number) => string;
}

const HEIGHT = 190;

/** Space of the names of times, and above the highest value. */
const [BOTTOM, TOP] = [22, 10];

/** Width of a digit of a value's name, and the least space of such names, in pixels. */
const [DIGIT, LEAST_LEFT] = [7.5, 52];

/** Widths of a bar and of the name of a time, in pixels. */
const MAX_BAR = 40;
const TICK = 80;

/** Times between two names. */
const TICKS = [1, 2, 4, 8, 12, 16, 24, 32, 48, 96, 192];

const compact = new Intl.NumberFormat(undefined, {
  notation: 'compact',
  maximumSignificantDigits: 3,
});

/** A chart of times. Its numbers are in a tip at the pointer; the view shows the sums as text. */
export function Chart(props: ChartProps) {
  const { label, times, series, kind = 'bars', format, timeName = formatTime } = props;
  const holder = useRef<HTMLDivElement>(null);
  const scale = scaleOf(props, useWidth(holder));
  const { left, width, x, step, heights } = scale;
  const [pointed, setPointed] = useState<number>();
  const peak = Math.max(0, ...heights);
  const peakText =
    peak > 0 ? `, most on ${timeName(times[heights.indexOf(peak)]!)}: ${format(peak)}` : '';
  const point = ({ clientX, currentTarget }: PointerEvent) => {
    const offset = clientX - (currentTarget as Element).getBoundingClientRect().left;
    const index = Math.floor((offset - left) / step);
    setPointed(index >= 0 && index < times.length ? index : undefined);
  };
  return (
    <figure class="chart" ref={holder}>
      <svg
        width={width}
        height={HEIGHT}
        role="img"
        aria-label={`${label} from ${timeName(times[0]!)} to ${timeName(times.at(-1)!)}${peakText}`}
        onPointerMove={point}
        onPointerLeave={() => setPointed(undefined)}
      >
        <Axes {...{ scale, times, name: props.tickName ?? timeName }} />
        {pointed !== undefined && (
          <rect
            class="pointed"
            x={x(pointed)}
            y={TOP}
            width={step}
            height={HEIGHT - BOTTOM - TOP}
          />
        )}
        {series.map((one, place) => (
          <path
            key={one.name}
            class={kind}
            style={toneOf(one, place)}
            d={kind === 'bars' ? bars(series, place, scale) : line(one.values, scale)}
          />
        ))}
      </svg>
      {series.length > 1 && (
        <ul class="facts legend">
          {series.map((one, place) => (
            <li key={one.name}>
              <span class="swatch" style={toneOf(one, place)} /> {one.name}
            </li>
          ))}
        </ul>
      )}
      {pointed !== undefined && (
        <div class="tip" style={tipPlace(x(pointed), width)}>
          <strong>{timeName(times[pointed]!)}</strong>
          <Values {...{ series, pointed, format }} />
        </div>
      )}
    </figure>
  );
}

type Scale = ReturnType<typeof scaleOf>;

/** Where times and values are in a chart of a width, in pixels. */
function scaleOf({ times, series, kind = 'bars' }: ChartProps, width: number) {
  const heights = times.map((_, index) => {
    const values = valuesAt(series, index);
    return kind === 'bars' ? sum(values) : Math.max(0, ...values);
  });
  const most = niceAbove(Math.max(0, ...heights));
  const left = Math.max(LEAST_LEFT, compact.format(most / 2).length * DIGIT + 10);
  const step = (width - left) / Math.max(1, times.length);
  return {
    /** Where the first time begins. */
    left,
    width,
    /** Of each time: the top of its bar, or of the highest line. */
    heights,
    /** The value at the upper end. */
    most,
    /** Between two times. */
    step,
    x: (index: number) => left + index * step,
    y: (value: number) => HEIGHT - BOTTOM - (value / most) * (HEIGHT - BOTTOM - TOP),
  };
}

interface AxesProps extends Pick<ChartProps, 'times'> {
  readonly scale: Scale;
  readonly name: (seconds: number) => string;
}

/** Three lines with their values, and names of as many times as there is space for. */
function Axes({ scale: { left, width, most, step, x, y }, times, name }: AxesProps) {
  const least = TICK / Math.max(step, 1);
  const every = TICKS.find((count) => count >= least) ?? times.length;
  const length = times.length > 1 ? times[1]! - times[0]! : 1;
  const isTick = (time: number, index: number) =>
    Math.round(time / length) % every === 0 && x(index + 0.5) + TICK / 3 < width;
  return (
    <>
      {[0, most / 2, most].map((value) => (
        <g key={value}>
          <path class="grid" d={`M${left},${y(value)}H${width}`} />
          <text x={left - 6} y={y(value) + 4} text-anchor="end">
            {compact.format(value)}
          </text>
        </g>
      ))}
      {times.map(
        (time, index) =>
          isTick(time, index) && (
            <text key={time} x={x(index + 0.5)} y={HEIGHT - 4} text-anchor="middle">
              {name(time)}
            </text>
          ),
      )}
    </>
  );
}

interface ValuesProps extends Pick<ChartProps, 'series' | 'format'> {
  /** Index of the time. */
  readonly pointed: number;
}

/** The values of one time, without zeros where there are many series. */
function Values({ series, pointed, format }: ValuesProps) {
  return series.map((one, place) => {
    const value = one.values[pointed];
    if (value == null || (value === 0 && series.length > 2)) return null;
    return (
      <div key={one.name}>
        {series.length > 1 && <span class="swatch" style={toneOf(one, place)} />}{' '}
        {series.length > 1 && `${one.name}: `}
        {format(value)}
      </div>
    );
  });
}

/** The numbers of a time stand at the side of it that has more space. */
function tipPlace(left: number, width: number) {
  return left > width / 2 ? { right: width - left + 8 } : { left: left + 24 };
}

function valuesAt(series: readonly Series[], index: number): number[] {
  return series.map(({ values }) => values[index] ?? 0);
}

/** The bars of a series upon those before it. */
function bars(series: readonly Series[], place: number, { heights, step, x, y }: Scale): string {
  const bar = Math.max(1, Math.min(MAX_BAR, step * 0.75));
  return heights
    .map((_, index) => {
      const values = valuesAt(series, index);
      const value = values[place]!;
      if (value === 0) return '';
      const below = sum(values.slice(0, place));
      const [from, to] = [y(below), y(below + value)];
      return `M${x(index + 0.5) - bar / 2},${from}V${Math.min(to, from - 1)}h${bar}V${from}z`;
    })
    .join('');
}

/** A line with gaps where there are no values; a value alone is a dot. */
function line(values: Series['values'], { x, y }: Scale): string {
  return values
    .map((value, index) => {
      if (value === null) return '';
      const isStart = values[index - 1] == null;
      const dot = isStart && values[index + 1] == null ? 'm-2,0a2,2 0 1,0 4,0a2,2 0 1,0 -4,0' : '';
      return `${isStart ? 'M' : 'L'}${x(index + 0.5)},${y(value)}${dot}`;
    })
    .join('');
}

const PALETTE = [
  'var(--accent)',
  'light-dark(#0e8a7d, #4fd1c0)',
  'light-dark(#c2710c, #f0a860)',
  'light-dark(#7a3fb0, #c79bf2)',
  'light-dark(#b0305c, #f58fb0)',
  'light-dark(#5d7a1f, #b4d36b)',
  'var(--edge)',
];

/** The colour of a series, for the style sheet. */
function toneOf({ isBad }: Series, place: number) {
  return { '--tone': isBad ? 'var(--bad)' : PALETTE[place % PALETTE.length] };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** A round number at or above a value. */
function niceAbove(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 5, 10].map((factor) => factor * power).find((nice) => nice >= value)!;
}

/** Width of an element in pixels, as it changes. */
function useWidth(element: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(320);
  useEffect(() => {
    const { current } = element;
    const observer = new ResizeObserver(() => setWidth(current!.clientWidth));
    observer.observe(current!);
    return () => observer.disconnect();
  }, []);
  return width;
}
