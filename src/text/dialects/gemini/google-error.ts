import type { Json } from '../../canonical.ts';

/** Google's words for errors by HTTP status. */
const WORDS = new Map([
  [400, 'INVALID_ARGUMENT'],
  [401, 'UNAUTHENTICATED'],
  [403, 'PERMISSION_DENIED'],
  [404, 'NOT_FOUND'],
  [413, 'INVALID_ARGUMENT'],
  [429, 'RESOURCE_EXHAUSTED'],
  [502, 'UNAVAILABLE'],
  [503, 'UNAVAILABLE'],
  [504, 'DEADLINE_EXCEEDED'],
]);

/** An error with Google's word for it. Its `code` is that of interface part 2.1, which is no number. */
export function googleError(error: Json, status: number): Json {
  const word = WORDS.get(status) ?? (status < 500 ? 'FAILED_PRECONDITION' : 'INTERNAL');
  return { error: { ...error, status: word } };
}
