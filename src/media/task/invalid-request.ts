import { type CodeOf, Failure } from '../../failure.ts';
import { named } from '../../schema/fields.ts';

/** The failure for an invalid field of a client's request. @param param path of the field */
export function invalid(
  param: string,
  message: string,
  code?: CodeOf<'invalid_request'>,
  status?: number,
): Failure {
  return new Failure('invalid_request', named(param, message), {
    param,
    ...(code !== undefined && { code }),
    ...(status !== undefined && { status }),
  });
}
