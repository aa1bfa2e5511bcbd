import type { ThreadOperation } from './definition/operation.ts';
import { render } from './sandbox/render.ts';
import { compare } from './tools/compare.ts';
import { favicon } from './tools/favicon.ts';
import { fingerprint } from './tools/fingerprint.ts';
import { inspect } from './tools/inspect.ts';
import { montageCell, montageSheet } from './tools/montage.ts';
import { preview } from './tools/preview.ts';
import { verify } from './tools/verify.ts';

/** Operations for other commands and parts of the daemon, without an endpoint or documentation of their own. */
export const INTERNAL_OPERATIONS: readonly ThreadOperation<never>[] = [
  verify,
  render,
  preview,
  fingerprint,
  inspect,
  favicon,
  compare,
  montageCell,
  montageSheet,
];
