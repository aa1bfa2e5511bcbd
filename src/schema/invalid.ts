import { type CodeOf, Failure } from '../failure.ts';

const REQUIRED = 'is required';

/** The message for a value of the wrong type or range. */
export function expected(expects: string, received: string): string {
  return received === 'nothing'
    ? `${REQUIRED}: ${expects.replace(/,$/, '')}`
    : `expected ${expects}, received ${received}`;
}

/** A message after the name that it is about: `--format is required: …`, `quality: expected …`. */
export function named(name: string, message: string): string {
  return message.startsWith(REQUIRED) ? `${name} ${message}` : `${name}: ${message}`;
}

/** The failure for an invalid field of a request. @param param path of the field; null where it is the whole request */
export function invalid(
  param: string | null,
  message: string,
  code?: CodeOf<'invalid_request'>,
  status?: number,
): Failure {
  return new Failure('invalid_request', param === null ? message : named(param, message), {
    ...(param !== null && { param }),
    ...(code !== undefined && { code }),
    ...(status !== undefined && { status }),
  });
}
