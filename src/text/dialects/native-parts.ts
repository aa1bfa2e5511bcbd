import type { DialectName, Json, NativePart } from '../canonical/canonical.ts';
import type { FieldTable } from './field-table.ts';
import { refuseNative } from './request-errors.ts';
import type { NeverOmitted } from './unsupported-field.ts';

/** A part of a request that only one dialect has. */
export function nativePart(dialect: DialectName, path: string, value: unknown): NativePart {
  return { type: 'native', dialect, path, value };
}

/**
 * The value of a native part for an upstream of its own dialect.
 *
 * @throws Failure invalid_request for an upstream of another dialect
 */
export function nativeValue(part: NativePart, target: DialectName, kept?: NeverOmitted): unknown {
  return part.dialect === target ? part.value : refuseNative(part, target, kept);
}

/** Properties of a request that the canonical request does not hold. */
export interface Findings {
  readonly native: NativePart[];
  readonly advice: string[];
}

/** Collects the native properties and the advice of an object. @param path empty for the request itself */
export function collectRest(
  dialect: DialectName,
  table: FieldTable,
  object: Json,
  path: string,
  { native, advice }: Findings,
): void {
  for (const name of table.nativeNames(object, path, advice)) {
    native.push(nativePart(dialect, path === '' ? name : `${path}.${name}`, object[name]));
  }
}
