import { Failure } from '../failure.ts';

export interface UpstreamFailureOptions {
  /** Of the header Retry-After, as it came. */
  readonly retryAfter?: string | undefined;
  /** Milliseconds, of the header retry-after-ms, as it came. */
  readonly retryAfterMs?: string | undefined;
  /** The provider's name in the configuration. */
  readonly provider?: string | undefined;
  /** What must be in no message: the provider's key. */
  readonly secret?: string | undefined;
}

/**
 * What went wrong at an upstream, by what it said about it.
 *
 * @param status null inside a stream
 * @param body parsed JSON, or text
 */
export function upstreamFailure(
  _status: number | null,
  _body: unknown,
  _options: UpstreamFailureOptions = {},
): Failure {
  return new Failure('service_error', 'The provider failed');
}

/** The same request to the same route may do better. */
export function isRetriable(_failure: Failure): boolean {
  return false;
}

/** Another route may do better. */
export function isRoutable(_failure: Failure): boolean {
  return false;
}
