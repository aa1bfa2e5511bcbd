import { expect, test } from 'vitest';
import { residentCommand } from '../resident.ts';

const oriel = residentCommand();

const WHOLE = 'crop --left 0 --top 0 --width 10 --height 10';

/** Commands that are refused before any work, with the flag that the message names. */
test.each([
  ['convert', '--format'],
  ['convert --format bmp', '--format'],
  ['convert --format jpeg --lossless', '--lossless'],
  ['convert --format jpeg --background #12', '--background'],
  ['convert --format webp --quality 0', '--quality'],
  ['convert --format webp --quality 101', '--quality'],
  ['convert --format webp --quality 80.5', '--quality'],
  ['convert --format webp --effort 11', '--effort'],
  ['convert --format webp --metadata some', '--metadata'],
  ['convert --format webp --animated maybe', '--animated'],
  ['resize', '--width'],
  ['resize --width 0', '--width'],
  ['resize --height 8193', '--height'],
  ['resize --width 10.5', '--width'],
  ['resize --percent 0.5', '--percent'],
  ['resize --percent 401', '--percent'],
  ['resize --percent 50 --width 10', '--percent'],
  ['resize --width 10 --position attention', '--position'],
  ['resize --width 10 --fit stretch', '--fit'],
  ['resize --width 10 --kernel sharp', '--kernel'],
  ['crop --top 0 --width 10 --height 10', '--left'],
  ['crop --left 0 --width 10 --height 10', '--top'],
  ['crop --left 0 --top 0 --height 10', '--width'],
  ['crop --left 0 --top 0 --width 10', '--height'],
  ['crop --left=-1 --top 0 --width 10 --height 10', '--left'],
  ['crop --left 0 --top 0 --width 0 --height 10', '--width'],
  ['crop --left 0 --top 0 --width 10 --height 8193', '--height'],
  ['crop --left 0 --top 1.5 --width 10 --height 10', '--top'],
  [`${WHOLE} --format bmp`, '--format'],
  ['crop --ratio 1:1 --left 1', '--left'],
  ['crop --ratio 1:1 --width 9', '--width'],
  ['crop --ratio 1:1 --percent 9', '--percent'],
  ['crop --ratio 0:1', '--ratio'],
  ['crop --ratio 16x9', '--ratio'],
  ['crop --gravity north --width 9', '--height'],
  ['crop --gravity attention --width 9 --height 9', '--gravity'],
  ['crop --percent 50 --gravity entropy', '--gravity'],
  ['rotate', '--angle'],
  ['rotate --angle 361', '--angle'],
  ['rotate --angle=-360.5', '--angle'],
  ['rotate --angle ninety', '--angle'],
  ['rotate --angle 90 --background octarine', '--background'],
  ['rotate --flip --lossless-trim', '--lossless-trim: is of no use without lossless'],
])('%s exits with 2 and names %s', async (command, name) => {
  const { code, out, stderr } = await oriel([...command.split(' '), 'image.png']);
  expect([code, out]).toEqual([2, '']);
  expect(stderr).toMatch(new RegExp(`oriel: ${name}(?::| is|$)`, 'm'));
});
