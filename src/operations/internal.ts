import { classifyTexts } from './classify.ts';
import { countTokens } from './count-tokens.ts';
import type { ThreadOperation } from './operation.ts';
import { preview } from './preview.ts';
import { render } from './render.ts';
import { verify } from './verify.ts';

/** Operations for other parts of the daemon, without a command, an endpoint or documentation. */
export const INTERNAL_OPERATIONS: readonly ThreadOperation<never>[] = [
  verify,
  render,
  preview,
  classifyTexts,
  countTokens,
];
