import { convert } from './convert.ts';
import { editMetadata } from './edit-metadata.ts';
import { hash } from './hash.ts';
import { metadata } from './metadata.ts';
import type { Operation } from './operation.ts';
import { optimize } from './optimize.ts';
import { palette } from './palette.ts';
import { placeholder } from './placeholder.ts';
import { run } from './run.ts';
import { sizeMap } from './size-map.ts';
import { STEP_OPERATIONS } from './steps.ts';

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
