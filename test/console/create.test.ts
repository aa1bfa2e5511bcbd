import fc from 'fast-check';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { eventsOf } from '../../src/console/api/events.ts';
import { NO_PAGES, withFirst, withItem, withNext } from '../../src/console/api/list.ts';
import type { Model } from '../../src/console/api/resource.ts';
import { TASKS, type Task } from '../../src/console/api/tasks.ts';
import {
  type Draft,
  draftOf,
  EMPTY_DRAFT,
  type Kind,
} from '../../src/console/views/create/draft.ts';
import { draftFaults, fieldsFor } from '../../src/console/views/create/fields.ts';
import {
  alphaOf,
  type Mask,
  type MaskShape,
  scaledMask,
  shareOf,
} from '../../src/console/views/create/mask.ts';
import { estimateOf, requestOf } from '../../src/console/views/create/request.ts';
import { shapesOf } from '../../src/console/views/create/shapes.ts';
import { pngOf } from '../../src/console/views/create/submit.ts';
import { modelWith } from './model.ts';

const situation = (draft: Partial<Draft>, kind: Kind = 'image', fields: Partial<Model> = {}) => ({
  kind,
  model: modelWith(fields),
  draft: { ...EMPTY_DRAFT, ...draft },
});
const INPUTS = [{ url: 'http://a/assets/1.png', name: 'a.png' }];

describe('shapes of sizes', () => {
  it('have the proportions of the model’s sizes, the longest side being 1', () => {
    const [square, wide] = shapesOf('image', ['1024x1024', '3840x2160', 'auto']);
    expect(square).toMatchObject({ value: '1024x1024', ratio: '1:1', pixels: '1024×1024' });
    expect(wide).toMatchObject({ ratio: '16:9', width: 1, height: 0.5625 });
    expect(square!.width).toBeCloseTo(1024 / 3840);
    expect(shapesOf('image', ['1024x1024', 'auto'])).toHaveLength(1);
  });

  it('are ratios of one area where only the provider knows the sizes', () => {
    const shapes = shapesOf('video', null);
    expect(shapes.map(({ value }) => value)).toContain('9:16');
    for (const { width, height, pixels } of shapes) {
      expect(pixels).toBeNull();
      expect(width * height).toBeCloseTo(0.75 ** 2, 2);
    }
    expect(shapesOf('audio', null)).toEqual([]);
  });
});

describe('a mask', () => {
  const mask = (shapes: readonly MaskShape[], width = 8, height = 6): Mask => ({
    ...{ width, height, shapes },
  });
  const rectangle = (x: number, y: number, width: number, height: number, isErased = false) => ({
    points: [x, y, x + width, y + height],
    radius: null,
    isErased,
  });
  const at = (one: Mask, x: number, y: number) => alphaOf(one)[y * one.width + x];

  it('is transparent within painted rectangles and opaque where they are erased', () => {
    const both = mask([rectangle(2, 1, 3, 2), rectangle(3, 0, 1, 6, true)]);
    const rows = Array.from({ length: 6 }, (_, y) =>
      Array.from({ length: 8 }, (__, x) => (at(both, x, y) === 0 ? '#' : '.')).join(''),
    );
    expect(rows).toEqual(['........', '..#.#...', '..#.#...', '........', '........', '........']);
  });

  it('has the pixels whose centres are within the brush of a stroke, for any stroke', () => {
    const point = fc.tuple(fc.integer({ min: -5, max: 25 }), fc.integer({ min: -5, max: 25 }));
    fc.assert(
      fc.property(
        fc.array(point, { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 6 }),
        (points, radius) => {
          const stroke = { points: points.flat(), radius, isErased: false };
          const alpha = alphaOf(mask([stroke], 20, 20));
          for (let index = 0; index < 400; index += 1) {
            const [x, y] = [(index % 20) + 0.5, Math.floor(index / 20) + 0.5];
            const distance = distanceOf(points, x, y);
            // Of centres on the edge, rounding decides.
            if (Math.abs(distance - radius) < 1e-9) continue;
            expect(alpha[index], `${x},${y}`).toBe(distance < radius ? 0 : 255);
          }
        },
      ),
      { numRuns: 100 },
    );
  });

  it('keeps its share when it is scaled', () => {
    const half = mask([rectangle(0, 0, 50, 100)], 100, 100);
    expect(shareOf(half)).toBe(0.5);
    expect(shareOf(scaledMask(half, 0.5))).toBe(0.5);
    expect(shareOf(scaledMask(half, 30))).toBe(0.5);
    expect(shareOf(mask([]))).toBe(0);
  });

  it('becomes a PNG of the image’s size with alpha that decoders read', async () => {
    const alpha = alphaOf(mask([rectangle(1, 1, 2, 3)], 7, 5));
    const blob = await pngOf(7, 5, alpha);
    expect(blob.type).toBe('image/png');
    const image = sharp(Buffer.from(await blob.arrayBuffer()), { failOn: 'warning' });
    const size = { width: 7, height: 5, channels: 4 };
    expect(await image.metadata()).toMatchObject({ format: 'png', ...size });
    expect([...(await image.extractChannel('alpha').raw().toBuffer())]).toEqual([...alpha]);
  });
});

/** Distance of a point to a line through points. */
function distanceOf(points: readonly (readonly [number, number])[], x: number, y: number): number {
  const distances = points.map((to, index) => {
    const from = points[Math.max(0, index - 1)]!;
    const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
    const squared = dx ** 2 + dy ** 2;
    const along = squared === 0 ? 0 : ((x - from[0]) * dx + (y - from[1]) * dy) / squared;
    const share = Math.min(1, Math.max(0, along));
    return Math.hypot(x - from[0] - share * dx, y - from[1] - share * dy);
  });
  return Math.min(...distances);
}

it.each([
  ['image', { per_image: 0.1 }, {}, { n: 3 }, 0.3],
  ['image', { per_image: 0.04 }, {}, {}, 0.04],
  ['image', {}, {}, {}, null],
  ['video', { per_video: 1, per_second: 0.5 }, {}, { duration: 10 }, 6],
  ['video', { per_video: 1, per_second: 0.5 }, { default_duration: 4 }, {}, 3],
  ['video', { per_video: 1, per_second: 0.5 }, {}, {}, null],
  ['video', { per_video: 1, per_second: 0 }, {}, {}, 1],
  ['audio', { per_request: 0.01 }, {}, { duration: 9 }, 0.01],
  ['audio', {}, {}, {}, null],
] as const)(
  'a price of %s by %o with limits %o and fields %o is %s credits',
  (type, pricing, limits, fields, credits) => {
    expect(estimateOf({ type, pricing, limits } as unknown as Model, fields)).toBe(credits);
  },
);

describe('a request', () => {
  it('has the fields that are filled in, and numbers as numbers', () => {
    const values = { prompt: ' a ', n: '2', quality: '', size: '1024x1024', seed: '7', voice: 'x' };
    expect(requestOf(situation({ values }))).toEqual({
      path: 'v1/images/generations',
      fields: { model: 'm', prompt: ' a ', size: '1024x1024', n: 2, seed: 7 },
      edit: null,
    });
  });

  it('is an edit with images that are changed, and refers to them otherwise', () => {
    const values = { prompt: 'a' };
    const mask = { width: 1, height: 1, shapes: [] };
    expect(requestOf(situation({ values, inputs: INPUTS, mask }))).toMatchObject({
      path: 'v1/images/edits',
      edit: { images: INPUTS, mask: null },
    });
    const reference = requestOf(situation({ values, inputs: INPUTS, use: 'reference' }));
    expect(reference).toMatchObject({ edit: null, fields: { input_images: [INPUTS[0]!.url] } });
    const without = { endpoints: ['/v1/images/generations'] };
    expect(requestOf(situation({ values, inputs: INPUTS }, 'image', without)).edit).toBeNull();
  });

  it('returns as the draft that it came from', () => {
    const request = {
      prompt: 'a',
      size: 'auto',
      n: 1,
      quality: 'low',
      edit: true,
      seed: 7,
      input_images: [INPUTS[0]!.url, 5],
      mask: 'http://a/assets/2.png',
      voice: { id: 'v' },
    };
    expect(draftOf(request, 'm')).toEqual({
      values: { model: 'm', prompt: 'a', quality: 'low', seed: '7' },
      inputs: [{ url: INPUTS[0]!.url, name: 'image 1' }],
      use: 'edit',
      mask: 'http://a/assets/2.png',
    });
    expect(draftOf({ input_images: 'x', edit: false }, 'm')).toMatchObject({
      inputs: [],
      use: 'edit',
    });
  });

  it.each([
    [{}, { prompt: 'Write what to make.' }],
    [{ prompt: ' \n' }, { prompt: 'Write what to make.' }],
    [{ prompt: '🙂'.repeat(32_000) }, {}],
    [{ prompt: 'x'.repeat(32_001) }, { prompt: 'Use at most 32,000 characters.' }],
    [{ prompt: 'a', seed: '1.5' }, { seed: 'Use a whole number from 0.' }],
    [{ prompt: 'a', seed: 'x' }, { seed: 'Use a whole number from 0.' }],
    [{ prompt: 'a', n: '11' }, { n: 'This model does not have it. Choose another.' }],
    [{ prompt: 'a', output_compression: '200' }, {}],
    [
      { prompt: 'a', output_format: 'webp', output_compression: '200' },
      { output_compression: 'Use a whole number from 0 to 100.' },
    ],
  ])('of the values %o has the faults %o', (values, faults) => {
    expect(draftFaults(situation({ values: values as Draft['values'] }))).toEqual(faults);
  });

  it('has no number of images where the model makes one', () => {
    const one = situation({}, 'image', { limits: { max_images: 1 }, sizes: null });
    const names = fieldsFor(one).map(({ name }) => name);
    expect(names).not.toContain('n');
    expect(names).toContain('style');
  });
});

describe('pages of tasks', () => {
  const task = (task_id: string, status: Task['status'] = 'completed'): Task => ({
    ...{ task_id, status, model: 'm', type: 'image', result: null, error: null },
  });
  const page = (ids: string, next: string | null = null) => ({
    items: [...ids].map((id) => task(id)),
    next,
  });
  const idsOf = (list: { readonly items: readonly Task[] }) => list.items.map(TASKS.idOf).join('');
  const loaded = withFirst(TASKS, NO_PAGES, page('dc', 'c'));

  it('have tasks of events first, and older pages last', () => {
    const events = (id: string) => withItem(TASKS, NO_PAGES, task(id));
    expect(idsOf(withFirst(TASKS, events('e'), page('dc')))).toBe('edc');
    expect(idsOf(withFirst(TASKS, events('d'), page('dc')))).toBe('dc');
    const all = withNext(TASKS, loaded, page('cba'));
    expect([idsOf(all), all.next]).toEqual(['dcba', null]);
  });

  it('keep older pages when the first is loaded again, unless tasks between are not known', () => {
    const all = withNext(TASKS, loaded, page('ba'));
    const again = withFirst(TASKS, withItem(TASKS, all, task('f')), page('fedc', 'c'));
    expect([idsOf(again), again.next]).toEqual(['fedcba', null]);
    const other = withFirst(TASKS, all, page('zyx', 'x'));
    expect([idsOf(other), other.next]).toEqual(['zyx', 'x']);
  });

  it('do not return a task from its end', () => {
    const ended = withItem(TASKS, loaded, task('d', 'pending'));
    expect(ended.items[0]!.status).toBe('completed');
    const open = withItem(TASKS, NO_PAGES, task('a', 'pending'));
    expect(withItem(TASKS, open, task('a', 'failed')).items[0]!.status).toBe('failed');
  });
});

it('events of a stream are the same wherever it is cut', async () => {
  const text =
    ': comment\r\n\r\nevent: open\r\ndata: {}\r\n\r\nid: 5\nevent: task\ndata: a:\ndata: ü\n\nevent: none\n\ndata: cut';
  const bytes = new TextEncoder().encode(text);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 0, max: bytes.length }), { maxLength: 6 }),
      async (cuts) => {
        const ends = [...cuts.sort((a, b) => a - b), bytes.length];
        const parts = ends.map((end, index) => bytes.slice(index === 0 ? 0 : ends[index - 1], end));
        const body = new ReadableStream({
          start(controller) {
            for (const part of parts) controller.enqueue(part);
            controller.close();
          },
        });
        const events: unknown[] = [];
        for await (const event of eventsOf(new Response(body))) events.push(event);
        expect(events).toEqual([
          { event: 'open', data: '{}' },
          { event: 'task', data: 'a:\nü' },
        ]);
      },
    ),
    { numRuns: 100 },
  );
});
