import { judgeTexts } from './judge.ts';
import type { ThreadOperation } from './operation.ts';
import { render } from './render.ts';
import { verify } from './verify.ts';

/** What threads do for the daemon alone: no command, no endpoint and no documentation comes of it. */
export const INTERNAL_OPERATIONS: readonly ThreadOperation<never>[] = [verify, render, judgeTexts];
