import type { Recording } from './samples.ts';
import { type Judged, LINES, measured, pointsOf, regression } from './verdict.ts';

const WIDTH = 880;
const COLUMNS = 2;
const PANEL = { width: 400, height: 96, left: 44, top: 26, right: 8, gap: 44 };
/** Points of a line: more than the picture has pixels for would only make the file larger. */
const POINTS = 180;

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/** A number in few characters. */
export function short(value: number): string {
  const size = Math.abs(value);
  if (size >= 100) return Math.round(value).toLocaleString('en-US');
  return size >= 10 ? value.toFixed(1) : value.toFixed(2);
}

const STYLE = `text{font:11px system-ui,sans-serif;fill:#57606a}.name{font-weight:600;fill:#24292f}
.line{fill:none;stroke:#0969da;stroke-width:1.2}.fit{stroke:#bc4c00;stroke-width:1.5;stroke-dasharray:5 3}
.bad{fill:#cf222e}.axis{stroke:#d0d7de}.warm{fill:#eaeef2}.event{stroke:#8250df;stroke-opacity:.35}
@media (prefers-color-scheme:dark){text{fill:#9198a1}.name{fill:#f0f6fc}.line{stroke:#4493f8}.fit{stroke:#f0883e}
.axis{stroke:#3d444d}.warm{fill:#212830}.bad{fill:#f85149}.ground{fill:#0d1117}}.ground{fill:#fff}`;

/** Draws every line of a run with its regression: one panel each, in one SVG. */
export function picture(recording: Recording, judged: readonly Judged[]): string {
  const { samples, header, happenings } = recording;
  const end = samples.at(-1)?.at ?? 1;
  const rows = Math.ceil(LINES.length / COLUMNS);
  const height = rows * (PANEL.height + PANEL.gap) + 40;
  const panels = LINES.map((line, index) => {
    const { width, height: tall, left, top } = PANEL;
    const x = (seconds: number) => (seconds / end) * (width - left - PANEL.right);
    const points = pointsOf(samples, line, POINTS);
    const most = Math.max(1, ...points.map(([, y]) => y)) * 1.08;
    const y = (value: number) => tall - (value / most) * tall;
    const path = points.map(([at, value]) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`);
    const rest = measured(samples, header.warmUp);
    const grouped = pointsOf(rest, line, 24);
    const { verdict, slope, confidence, unit } = judged[index]!;
    const { slope: each, intercept } =
      grouped.length > 2
        ? regression(grouped)
        : regression([
            [0, 0],
            [1, 0],
            [2, 0],
          ]);
    const from = Math.min(header.warmUp, end);
    const drawn =
      verdict === 'not judged'
        ? ''
        : `<line class="fit" x1="${x(from).toFixed(1)}" y1="${y(intercept + each * from).toFixed(1)}" ` +
          `x2="${x(end).toFixed(1)}" y2="${y(intercept + each * end).toFixed(1)}"/>`;
    const ticks = happenings.map(({ at }) => `M${x(at).toFixed(1)} ${tall}v-4`).join('');
    const column = (index % COLUMNS) * (WIDTH / COLUMNS) + left;
    const row = Math.floor(index / COLUMNS) * (tall + PANEL.gap) + top + 14;
    const result =
      verdict === 'not judged'
        ? verdict
        : `${verdict}: ${slope < 0 ? '−' : '+'}${short(Math.abs(slope))} ± ${short(confidence)} ${unit}/h`;
    return (
      `<g transform="translate(${column} ${row})">` +
      `<rect class="warm" width="${x(from).toFixed(1)}" height="${tall}"/>` +
      `<text class="name" y="-7">${escaped(line.name)}</text>` +
      `<text class="${verdict === 'grows' ? 'bad' : ''}" x="${width - left - PANEL.right}" y="-7" ` +
      `text-anchor="end">${escaped(result)}</text>` +
      `<path class="axis" d="M0 0V${tall}H${width - left - PANEL.right}" fill="none"/>` +
      `<text x="-5" y="9" text-anchor="end">${short(most)}</text>` +
      `<text x="-5" y="${tall}" text-anchor="end">0</text>` +
      `<path class="event" d="${ticks}"/>` +
      `<polyline class="line" points="${path.join(' ')}"/>${drawn}</g>`
    );
  });
  const minutes = end / 60;
  const foot =
    `${header.rate.toFixed(1)} of ${header.capacity.toFixed(1)} mixed requests a second for ` +
    `${short(minutes)} minutes, left to right. Grey: warm-up. Dashed: regression. Ticks: restarts, key and log ` +
    'rotation, backups.';
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" ` +
    `aria-label="Memory, descriptors, files and latency of the daemon over ${short(minutes)} minutes">` +
    `<style>${STYLE}</style><rect class="ground" width="100%" height="100%"/>${panels.join('\n')}` +
    `<text x="16" y="${height - 12}">${escaped(foot)}</text></svg>\n`
  );
}
