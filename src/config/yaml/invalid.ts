import { Failure } from '../../failure.ts';

/** Code of a failure whose message lists the faults of a configuration, one on each line. */
export const INVALID_CONFIG = 'invalid_config';

export function invalidConfig(faults: string, cause?: unknown): Failure {
  return new Failure('invalid_request', faults, { code: INVALID_CONFIG, cause });
}
