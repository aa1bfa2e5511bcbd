import { beforeAll, expect, test } from 'vitest';
import { runBatch } from '../batch.ts';
import { gainMapOf, ultraHdr } from '../fixtures/gain-map.ts';

const SIZE = { width: 320, height: 256 };
let upright: Buffer;
let turned: Buffer;
beforeAll(async () => {
  upright = await ultraHdr(SIZE);
  turned = await ultraHdr(SIZE, 6);
});

/** The corner of the gain map that is bright, as columns and rows of a half: the map's top left in the file. */
test.each([
  ['convert --format jpeg', [80, 64], [0.2, 0.2], [0.7, 0.2]],
  ['convert --format jpeg --metadata all', [80, 64], [0.2, 0.2], [0.7, 0.2]],
  ['resize --width 160', [40, 32], [0.2, 0.2], [0.7, 0.7]],
  ['resize --width 120 --height 120 --fit cover', [30, 30], [0.2, 0.2], [0.8, 0.2]],
  ['crop --left 160 --top 0 --width 160 --height 240', [40, 60], null, [0.2, 0.2]],
  ['crop --left 80 --top 60 --width 160 --height 120', [40, 30], [0.2, 0.2], [0.8, 0.2]],
  ['rotate --flop', [80, 64], [0.8, 0.2], [0.2, 0.2]],
  ['rotate --angle 90', [64, 80], [0.8, 0.2], [0.2, 0.2]],
  ['rotate --angle 90 --lossless', [64, 80], [0.8, 0.2], [0.2, 0.2]],
  ['extend --left 160', [120, 64], [0.5, 0.2], [0.1, 0.1]],
  ['optimize', [80, 64], [0.2, 0.2], [0.8, 0.8]],
  ['resize --width 80 --height 80 --fit contain', [20, 20], [0.2, 0.3], [0.2, 0.02]],
  ['optimize --quality 60', [80, 64], [0.2, 0.2], [0.8, 0.8]],
  ['optimize --target-size 12KB', [80, 64], [0.2, 0.2], [0.8, 0.8]],
  ['optimize --metadata all', [80, 64], [0.2, 0.2], [0.8, 0.8]],
])('%s keeps the gain map, of %j', async (command, [width, height], bright, dark) => {
  const batch = await runBatch(command.split(' '), { 'a.jpg': upright });
  expect(batch.warnings('a.jpg')).toEqual([]);
  const map = await gainMapOf(batch.bytes('a.jpg'));
  expect(map).toMatchObject({ width, height });
  const at = ([x, y]: readonly number[]) => map!.isBright(x! * width!, y! * height!);
  if (bright) expect(at(bright)).toBe(true);
  expect(at(dark)).toBe(false);
});

test.each([
  ['convert --format webp'],
  ['gamma --value 1.2'],
  ['blur --sigma 2'],
  ['convert --format jpeg --profile p3'],
])('%s drops the gain map with a warning', async (command) => {
  const batch = await runBatch(command.split(' '), { 'a.jpg': upright });
  expect(batch.warnings('a.jpg')).toEqual(['trailer_lost']);
  expect(await gainMapOf(batch.bytes('a.jpg'))).toBeNull();
});

test('the gain map of a picture that is displayed turned is turned with it', async () => {
  const batch = await runBatch(['resize', '--width', '120'], { 'a.jpg': turned });
  const map = await gainMapOf(batch.bytes('a.jpg'));
  expect(map).toMatchObject({ width: 30, height: 38 });
  expect([map!.isBright(22, 6), map!.isBright(6, 6)]).toEqual([true, false]);
});

test('metadata shows the gain map', async () => {
  const { record } = await runBatch(['metadata'], { 'a.jpg': upright });
  expect(record('a.jpg').data).toMatchObject({ gainMap: { width: 80, height: 64, channels: 1 } });
});

test('a file whose gain map is damaged or breaks off is decoded without it', async () => {
  const broken = Buffer.from(upright);
  broken.fill(0x55, broken.length - 300);
  const files = { 'a.jpg': broken, 'b.jpg': upright.subarray(0, -300) };
  const { record } = await runBatch(['resize', '--width', '80'], files);
  for (const name of Object.keys(files))
    expect(record(name)).toMatchObject({ status: 'succeeded' });
});

test('metadata of a file whose gain map has a damaged header has none of the map', async () => {
  const broken = Buffer.from(upright);
  // The first component of its scan.
  broken[broken.lastIndexOf(Buffer.from([0xff, 0xda])) + 5] = 248;
  const { record } = await runBatch(['metadata'], { 'a.jpg': broken });
  expect(record('a.jpg')).toMatchObject({ status: 'succeeded' });
  expect(record('a.jpg').data).not.toHaveProperty('gainMap');
});
