import { expect, test } from 'vitest';
import { residentCommand } from '../resident.ts';

const oriel = residentCommand();

/** Options that go together or exclude each other; test/cli/usage.long.test.ts has each value alone. */
test.each([
  ['resize --width 10 --position attention', '--position'],
  ['crop --top 0 --width 10 --height 10', '--left'],
  ['crop --left 0 --width 10 --height 10', '--top'],
  ['crop --left 0 --top 0 --height 10', '--width'],
  ['crop --left 0 --top 1.5 --width 10 --height 10', '--top'],
  ['crop --ratio 1:1 --left 1', '--left'],
  ['crop --ratio 1:1 --width 9', '--width'],
  ['crop --ratio 1:1 --percent 9', '--percent'],
  ['crop --ratio 0:1', '--ratio'],
  ['crop --ratio 16x9', '--ratio'],
  ['crop --gravity north --width 9', '--height'],
  ['crop --gravity attention --width 9 --height 9', '--gravity'],
  ['crop --percent 50 --gravity entropy', '--gravity'],
  ['rotate --angle 90 --background octarine', '--background'],
  ['rotate --flip --lossless-trim', '--lossless-trim: is of no use without lossless'],
])('%s exits with 2 and names %s', async (command, name) => {
  const { code, out, stderr } = await oriel([...command.split(' '), 'image.png']);
  expect([code, out]).toEqual([2, '']);
  expect(stderr).toMatch(new RegExp(`oriel: ${name}(?::| is|$)`, 'm'));
});
