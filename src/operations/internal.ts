import { classifyTexts } from './classify.ts';
import type { ThreadOperation } from './operation.ts';
import { preview } from './preview.ts';
import { render } from './render.ts';
import { verify } from './verify.ts';

/** What threads do for other parts: no command, no endpoint and no documentation derives from it. */
export const INTERNAL_OPERATIONS: readonly ThreadOperation<never>[] = [
  verify,
  render,
  preview,
  classifyTexts,
];
