import { invalidAnswer } from '../dialects/answer-errors.ts';

/** Base64 of numbers as 32-bit floats, little-endian: OpenAI's `encoding_format: base64`. */
export function encodeVector(numbers: readonly number[]): string {
  return Buffer.from(Float32Array.from(numbers).buffer).toString('base64');
}

function decodeVector(text: string): readonly number[] {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length === 0 || bytes.length % 4 !== 0)
    throw invalidAnswer('a vector that is no base64');
  // A copy, since the memory of a Buffer may begin at any address.
  return Array.from(new Float32Array(Uint8Array.from(bytes).buffer));
}

/**
 * A provider's vector in the encoding that the client asked for: many servers have one of them only.
 *
 * @throws Failure service_error for a value that is no vector
 */
export function vectorIn(encoding: 'float' | 'base64', vector: unknown): unknown {
  if (typeof vector === 'string') {
    return encoding === 'base64' && vector !== '' ? vector : decodeVector(vector);
  }
  if (!Array.isArray(vector) || vector.length === 0 || !vector.every(Number.isFinite)) {
    throw invalidAnswer('an embedding without a vector of numbers');
  }
  return encoding === 'float' ? vector : encodeVector(vector as number[]);
}
