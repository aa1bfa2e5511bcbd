import type { Step } from '../definition/step.ts';
import { ADJUSTMENTS } from './adjustments.ts';
import { crop } from './crop.ts';
import { extend } from './extend.ts';
import { overlay } from './overlay.ts';
import { resize } from './resize.ts';
import { rotate } from './rotate.ts';
import { trim } from './trim.ts';

/** The operations that apply one step. */
export const STEP_OPERATIONS = [
  ...[resize, crop, rotate, trim, extend],
  ...ADJUSTMENTS,
  overlay,
] as const;

/** All steps by name. */
export const STEPS: ReadonlyMap<string, Step> = new Map(
  STEP_OPERATIONS.map(({ step }) => [step.name, step]),
);
