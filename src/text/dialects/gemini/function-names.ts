import { nameOnWire } from '../tool-names.ts';

/** Names that Gemini refuses since they begin with a digit or a dash, and those that an escape resembles. */
const ESCAPED = /^_*[0-9-]/;

/** Encodes a tool's name for Gemini, which accepts only letters and underscores at its beginning. */
export function functionNameOnWire(name: string): string {
  const wire = nameOnWire(name);
  return ESCAPED.test(wire) ? `_${wire}` : wire;
}

/** Decodes a name to that of `nameOnWire`. */
export function functionNameFromWire(wire: string): string {
  return wire.startsWith('_') && ESCAPED.test(wire) ? wire.slice(1) : wire;
}
