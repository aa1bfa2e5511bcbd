import { useEffect, useRef } from 'preact/hooks';
import type uPlot from 'uplot';
import { formatCredits, formatDay } from '../../components/format.ts';

interface ChartProps {
  /** Days in seconds since the epoch, and their numbers. */
  readonly series: readonly [days: number[], values: number[]];
  /** What the numbers are: `Credits`. */
  readonly label: string;
}

const HEIGHT = 220;

/** Width of a bar: a share of the place of its day, and at most this many pixels. */
const BAR: readonly [share: number, most: number] = [0.7, 40];

const dayAndMonth = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  timeZone: 'UTC',
});
const short = new Intl.NumberFormat(undefined, {
  notation: 'compact',
  maximumSignificantDigits: 3,
});

function day(seconds: number): string {
  return formatDay(new Date(seconds * 1000).toISOString().slice(0, 10));
}

/** Bars, one for each day. The same numbers are in a table by day. */
export function Chart({ series, label }: ChartProps) {
  const holder = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = holder.current!;
    let chart: uPlot | undefined;
    let isLeft = false;
    void import('uplot').then(({ default: Plot }) => {
      if (!isLeft) chart = draw(Plot, element, series, label);
    });
    const redraw = () => {
      if (chart) chart.setSize({ width: element.clientWidth, height: HEIGHT });
    };
    const observer = new ResizeObserver(redraw);
    observer.observe(element);
    // The colours of the canvas do not follow the theme by themselves.
    const theme = matchMedia('(prefers-color-scheme: dark)');
    const repaint = () => chart?.redraw(false);
    theme.addEventListener('change', repaint);
    const attributes = new MutationObserver(repaint);
    attributes.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    return () => {
      isLeft = true;
      observer.disconnect();
      attributes.disconnect();
      theme.removeEventListener('change', repaint);
      chart?.destroy();
    };
  }, [series, label]);
  const [days, values] = series;
  const most = Math.max(...values);
  const peak =
    most > 0 ? `, most on ${day(days[values.indexOf(most)]!)}: ${short.format(most)}` : '';
  return (
    <figure class="chart">
      <div
        ref={holder}
        role="img"
        aria-label={`${label} from ${day(days[0]!)} to ${day(days.at(-1)!)}${peak}`}
      />
    </figure>
  );
}

function draw(
  Plot: typeof uPlot,
  element: HTMLElement,
  [days, values]: ChartProps['series'],
  label: string,
): uPlot {
  // A custom property that is light-dark(…) must be resolved: canvas knows no such function.
  const probe = document.createElement('span');
  element.append(probe);
  const colour = (name: string) => () => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const axis = {
    stroke: colour('--muted'),
    font: '12px system-ui, sans-serif',
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
  };
  return new Plot(
    {
      width: element.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      cursor: { drag: { x: false }, points: { show: false }, y: false },
      // Days are UTC.
      tzDate: (seconds) => Plot.tzDate(new Date(seconds * 1000), 'UTC'),
      scales: {
        x: { range: [days[0]! - 43_200, days.at(-1)! + 43_200] },
        y: { range: (_chart, _least, most) => [0, most > 0 ? most * 1.08 : 1] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          size: 28,
          space: 60,
          // No ticks of hours in a period of few days.
          incrs: [1, 2, 5, 7, 14, 30, 60, 120].map((count) => count * 86_400),
          values: (_chart, ticks) => ticks.map((tick) => dayAndMonth.format(tick * 1000)),
        },
        {
          ...axis,
          size: 64,
          values: (_chart, ticks) => ticks.map((tick) => short.format(tick)),
        },
      ],
      series: [
        {},
        {
          label,
          fill: colour('--accent'),
          paths: Plot.paths.bars!({ size: [...BAR] }),
          points: { show: false },
        },
      ],
      plugins: [tooltip()],
    },
    [days, values],
    element,
  );
}

/** The day and the number below the pointer. */
function tooltip(): uPlot.Plugin {
  const tip = document.createElement('div');
  tip.className = 'tip';
  tip.hidden = true;
  return {
    hooks: {
      init: ({ over }) => void over.append(tip),
      setCursor: ({ cursor: { idx, left = -1 }, data, over }) => {
        tip.hidden = idx === null || idx === undefined || left < 0;
        if (tip.hidden) return;
        tip.textContent = `${day(data[0][idx!]!)}: ${formatCredits(data[1]![idx!]!)}`;
        const most = over.clientWidth - tip.offsetWidth;
        tip.style.transform = `translate(${Math.max(0, Math.min(most, left + 12))}px, 4px)`;
      },
    },
  };
}
