import { Failure } from '../../failure.ts';
import { readUpstreamError } from '../../routing/upstream-error.ts';

/** A provider answered as if all were well, with something that nobody can use. @param what with its article */
export function unusable(what: string, detail = ''): Failure {
  return new Failure('service_error', `The provider sent ${what}`, {
    code: 'invalid_upstream_answer',
    detail,
  });
}

/** The same, where something was missing altogether. @param text what came instead: a page, often */
export function without(what: string, text: string): Failure {
  const { message } = readUpstreamError(text);
  return unusable(`no ${what}`, message);
}

/** What is thrown where the provider may charge all the same: nothing is tried again. */
export function charged(thrown: unknown): unknown {
  if (!(thrown instanceof Failure)) return thrown;
  const { message, code, cause, detail } = thrown;
  return new Failure('billable_error', `${message}. It may have charged for it`, {
    cause,
    ...(detail !== null && { detail }),
    originalCode: code,
  });
}
