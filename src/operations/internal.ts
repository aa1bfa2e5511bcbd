import type { SetOperation } from './batch/set.ts';
import type { ThreadOperation } from './definition/operation.ts';
import { srcset } from './recipe/srcset.ts';
import { OPERATIONS } from './registry.ts';
import { render } from './sandbox/render.ts';
import { compare, compareSet } from './tools/compare.ts';
import { duplicates } from './tools/duplicates.ts';
import { favicon, faviconSet } from './tools/favicon.ts';
import { fingerprint } from './tools/fingerprint.ts';
import { inspect } from './tools/inspect.ts';
import { montage, montageCell, montageSheet } from './tools/montage.ts';
import { preview } from './tools/preview.ts';
import { verify } from './tools/verify.ts';

/** Operations for other commands and parts of the daemon, without an endpoint or documentation of their own. */
export const INTERNAL_OPERATIONS: readonly ThreadOperation<never>[] = [
  ...[verify, render, preview, fingerprint, inspect],
  ...[favicon, compare, montageCell, montageSheet],
];

/**
 * The operations that have endpoints: over each file, and over all images of a request together. The command line has
 * a command of its own for each of the latter.
 */
export const BATCHES = [
  ...OPERATIONS,
  ...[duplicates, compareSet, montage, faviconSet, srcset],
] as readonly SetOperation[];
