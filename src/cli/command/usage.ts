import { Failure } from '../../failure.ts';

const CODE = 'usage';

/** An error in the command line: nothing was done, and the exit code is 2. */
export function usageFailure(message: string): Failure {
  return new Failure('invalid_request', message, { code: CODE });
}

/** Whether a failure is an error in the command line: a contradiction, or an invalid flag. */
export function isUsageFailure({ code, param }: Failure): boolean {
  return code === CODE || param !== null;
}
