import { Failure } from '../failure.ts';

const CODE = 'usage';

/** A command line that makes no sense: nothing was done, and the exit code is 2. */
export function usageFailure(message: string): Failure {
  return new Failure('invalid_request', message, { code: CODE });
}

/** Whether a failure is the command line's own: a contradiction, or a flag that a schema refused. */
export function isUsageFailure({ code, param }: Failure): boolean {
  return code === CODE || param !== null;
}
