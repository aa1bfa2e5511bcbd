import { Failure } from '../../failure.ts';
import { readUpstreamError } from '../../routing/upstream-error.ts';

/** The failure for a successful response with unusable content. @param what with its article */
export function invalidResponse(what: string, detail = ''): Failure {
  return new Failure('service_error', `The provider sent ${what}`, {
    code: 'invalid_upstream_answer',
    detail,
  });
}

/** The failure for a successful response of another kind than expected. @param text often an HTML page */
export function missingContent(what: string, text: string): Failure {
  const { message } = readUpstreamError(text);
  return invalidResponse(`no ${what}`, message);
}

/** Turns a failure into `billable_error`, which is not retried, since the provider may have charged. */
export function asBillable(error: unknown): unknown {
  if (!(error instanceof Failure)) return error;
  const { message, code, cause, detail } = error;
  return new Failure('billable_error', `${message}. It may have charged for it`, {
    cause,
    ...(detail !== null && { detail }),
    originalCode: code,
  });
}
