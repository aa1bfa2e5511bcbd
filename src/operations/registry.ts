import type { Operation } from './definition/operation.ts';
import { run } from './recipe/run.ts';
import { STEP_OPERATIONS } from './steps/steps.ts';
import { convert } from './tools/convert.ts';
import { editMetadata } from './tools/edit-metadata.ts';
import { hash } from './tools/hash.ts';
import { metadata } from './tools/metadata.ts';
import { optimize } from './tools/optimize.ts';
import { palette } from './tools/palette.ts';
import { placeholder } from './tools/placeholder.ts';
import { sizeMap } from './tools/size-map.ts';

/** All image operations. Commands, routes, form fields, help and documentation derive from this list. */
export const OPERATIONS = [
  convert,
  ...STEP_OPERATIONS,
  optimize,
  run,
  metadata,
  editMetadata,
  palette,
  placeholder,
  hash,
  sizeMap,
] as readonly Operation[];

export function findOperation(name: string): Operation | undefined {
  return OPERATIONS.find((operation) => operation.name === name);
}
