import type { DialectName, NativePart } from '../canonical.ts';
import { refuseNative } from './request-errors.ts';

/** A part of a request that only one dialect has. */
export function nativePart(dialect: DialectName, path: string, value: unknown): NativePart {
  return { type: 'native', dialect, path, value };
}

/**
 * The value of a native part for an upstream of its own dialect.
 *
 * @throws Failure invalid_request for an upstream of another dialect
 */
export function nativeValue(part: NativePart, target: DialectName): unknown {
  return part.dialect === target ? part.value : refuseNative(part, target);
}
