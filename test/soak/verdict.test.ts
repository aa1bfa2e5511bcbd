import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { Random } from '../torture/random.ts';
import { picture } from './picture.ts';
import { soakText } from './report.ts';
import { type Header, Recording, type Sample } from './samples.ts';
import { judge, LINES } from './verdict.ts';

const MEGA = 2 ** 20;
const HOUR = 3600;

/** An hour of samples with noise, each changed by `change`. */
function hour(change: (at: number, noise: number) => Partial<Sample>, interval = 5): Sample[] {
  const random = new Random('soak');
  return Array.from({ length: HOUR / interval }, (_, index) => {
    const noise = random.fraction() - 0.5;
    const at = index * interval;
    return {
      at,
      rss: (200 + 10 * noise) * MEGA,
      tree: (400 + 40 * noise) * MEGA,
      // Garbage collection every minute.
      heap: (60 + ((at % 60) / 60) * 40 + 4 * noise) * MEGA,
      fds: 80 + Math.round(6 * noise),
      files: 2000 + Math.round(100 * noise),
      bytes: (30 + noise) * MEGA,
      logs: ((at % 300) / 300) * MEGA,
      p50: 3 + noise,
      p99: 40 + 30 * noise,
      loop: 12 + noise,
      requests: 100,
      ...change(at, noise),
    };
  });
}

const options = { warmUp: HOUR / 4, share: 0.1, isFull: true };

const SERIES: readonly {
  name: string;
  change: (at: number, noise: number) => Partial<Sample>;
  grows: readonly string[];
}[] = [
  { name: 'noise alone', change: () => ({}), grows: [] },
  {
    name: 'resident memory that leaks 40 MB an hour',
    change: (at, noise) => ({ rss: (200 + 10 * noise + (40 * at) / HOUR) * MEGA }),
    grows: ['Memory of the daemon'],
  },
  {
    name: 'a heap whose lowest level rises below its garbage',
    change: (at, noise) => ({
      heap: (60 + ((at % 60) / 60) * 40 + 4 * noise + (20 * at) / HOUR) * MEGA,
    }),
    grows: ['Heap in use'],
  },
  {
    name: 'a descriptor that is not closed every minute',
    change: (at) => ({ fds: 80 + Math.floor(at / 60) }),
    grows: ['Open descriptors'],
  },
  {
    name: 'files and bytes that nobody deletes',
    change: (at) => ({ files: 2000 + at, bytes: (30 + at / 100) * MEGA }),
    grows: ['Files in the data folder', 'Bytes in the data folder'],
  },
  {
    name: 'requests that become slower and slower',
    change: (at) => ({ p50: 3 + at / 40, p99: 40 + at }),
    grows: ['Small requests, p50', 'Small requests, p99'],
  },
  {
    name: 'memory that grows only while the daemon warms up',
    change: (at) => ({ rss: Math.min(200, 100 + at / 8) * MEGA }),
    grows: [],
  },
  {
    name: 'memory that shrinks',
    change: (at) => ({ rss: (300 - at / 100) * MEGA }),
    grows: [],
  },
  {
    name: 'samples that could not be read',
    change: (at) => (at % 10 === 0 ? { rss: null, heap: null, loop: null } : {}),
    grows: [],
  },
];

test.each(SERIES)('$name', ({ change, grows }) => {
  const judged = judge(hour(change), options);
  expect(judged.filter(({ verdict }) => verdict === 'grows').map(({ name }) => name)).toEqual(
    grows,
  );
  expect(judged.filter(({ verdict }) => verdict === 'not judged')).toEqual([]);
});

test('the slope and its confidence are those of the series', () => {
  const [memory] = judge(
    hour((at, noise) => ({ rss: (200 + 10 * noise + (40 * at) / HOUR) * MEGA })),
    options,
  );
  expect(Math.abs(memory!.slope - 40)).toBeLessThan(memory!.confidence);
  expect(memory!.confidence).toBeLessThan(5);
});

test('a run shorter than the retention judges no kept data, and too few samples nothing', () => {
  const rising = hour((at) => ({ files: at, bytes: at * MEGA, logs: at * MEGA }));
  const short = judge(rising, { ...options, isFull: false });
  const kept = LINES.filter(({ isKept }) => isKept).map(({ name }) => name);
  expect(short.filter(({ verdict }) => verdict === 'not judged').map(({ name }) => name)).toEqual(
    kept,
  );
  const few = judge(rising.slice(-5), options);
  expect(new Set(few.map(({ verdict }) => verdict))).toEqual(new Set(['not judged']));
});

const folder = mkdtempSync(join(tmpdir(), 'oriel-soak-test-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('a run that broke off is read back and drawn, in less than 60 KB', () => {
  const header: Header = {
    ...{ hours: 8, seed: 'a', capacity: 100, rate: 30, warmUp: options.warmUp, isFull: true },
    started: '2026-11-26T10:00:00.000Z',
    machine: { CPU: 'a <fast> one', Cores: '2', Memory: '4 GiB', System: 'Linux', Node: '20' },
  };
  const written = Recording.begin(folder, header);
  for (const sample of hour((at) => ({ fds: 80 + at }), 1)) written.sample(sample);
  for (let at = 0; at < HOUR; at += 60) written.happened(at, 'backup');
  const recording = Recording.read(folder);
  expect(recording.samples).toEqual(written.samples);
  const judged = judge(recording.samples, options);
  const svg = picture(recording, judged);
  expect(svg.length).toBeLessThan(60_000);
  expect(svg).not.toMatch(/NaN|undefined/);
  expect(svg).toContain('grows: +3,600');
  const text = soakText(recording, judged, null);
  expect(text).toMatch(/\| Open descriptors +\| [\d,]+ +\| \+3,\d+ ± [\d.]+ +\| grows/);
  expect(text).toContain('backup (60)');
});
