import { compare } from './compare.ts';
import { favicon } from './favicon.ts';
import { fingerprint } from './fingerprint.ts';
import { montageCell } from './montage/cell.ts';
import { montageSheet } from './montage/sheet.ts';
import type { ThreadOperation } from './operation.ts';
import { preview } from './preview.ts';
import { render } from './render.ts';
import { verify } from './verify.ts';

/** Operations for other commands and parts of the daemon, without an endpoint or documentation of their own. */
export const INTERNAL_OPERATIONS: readonly ThreadOperation<never>[] = [
  verify,
  render,
  preview,
  fingerprint,
  favicon,
  compare,
  montageCell,
  montageSheet,
];
