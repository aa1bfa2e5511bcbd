import type { Failure } from '../../../failure.ts';
import type { Json } from '../../canonical/canonical.ts';

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

function wordOf(status: number): string {
  return WORDS.get(status) ?? (status < 500 ? 'FAILED_PRECONDITION' : 'INTERNAL');
}

/** The body of an error response with Google's word. Its `code` is a text or null, as in every format. */
export function errorBody({ error }: Json, _requestId: string, status: number): Json {
  return { error: { ...(error as Json), status: wordOf(status) } };
}

/** The last frame of a stream that failed, which newer SDKs of Google and parsers of server-sent events find. */
export const failFrames = (failure: Failure): string => `data: ${failChunk(failure)}`;

/**
 * A failure as Google sends it, JSON that is no event: Google's SDKs for Go and, before version 2, for JavaScript find
 * no other, and this one in a chunk of its own. They throw for an error whose `code` is a number.
 */
export function failChunk({ type, message, param, code, status }: Failure): string {
  const error = { code: status, message, status: wordOf(status), type, param, reason: code };
  return `${JSON.stringify({ error })}\n\n`;
}
