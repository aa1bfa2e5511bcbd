import * as v from 'valibot';
import type { Facts, Size } from '../../images/decoding/header.ts';
import { fileFailure } from '../../images/file-error.ts';
import { field } from '../../schema/fields.ts';

/** Fixed places of a part within a whole. */
export const GRAVITIES = [
  'center',
  'north',
  'northeast',
  'east',
  'southeast',
  'south',
  'southwest',
  'west',
  'northwest',
] as const;

/** Places that the content decides: where colours and skin attract the eye, or where detail is. */
export const STRATEGIES = ['attention', 'entropy'] as const;

type Strategy = (typeof STRATEGIES)[number];

export function isStrategy(position: string | undefined): position is Strategy {
  return STRATEGIES.some((strategy) => strategy === position);
}

/** Refuses an animation whose content decides how each frame is cut. @throws Failure animation_unsupported */
export function checkOneFrame({ frames }: Facts, setting: string): void {
  if (frames === 1) return;
  const message = `${setting} would cut each of the ${frames} frames elsewhere; animated "first" takes one`;
  throw fileFailure('animation_unsupported', message);
}

/** The offset of a part in a whole, or of a smaller image on a canvas. */
export function offsetOf(gravity: string, whole: Size, part: Size): { left: number; top: number } {
  const x = gravity.endsWith('west') ? 0 : gravity.endsWith('east') ? 1 : 0.5;
  const y = gravity.startsWith('north') ? 0 : gravity.startsWith('south') ? 1 : 0.5;
  return {
    left: Math.round((whole.width - part.width) * x),
    top: Math.round((whole.height - part.height) * y),
  };
}

const RATIO = /^(\d{1,5}(?:\.\d{1,5})?)[:/](\d{1,5}(?:\.\d{1,5})?)$/;

/** A field for an aspect ratio as a text. */
export const ratioField = (description: string) =>
  field(
    v.pipe(
      v.string(),
      v.check((text) => ratioOf(text) > 0 && ratioOf(text) < Number.POSITIVE_INFINITY),
    ),
    description,
    { expects: 'a ratio of width to height such as 16:9' },
  );

/** Width divided by height. @param text a value that a `ratioField` has validated */
export function ratioOf(text: string): number {
  const [, width, height] = RATIO.exec(text) ?? [];
  return Number(width) / Number(height);
}
