import type { FastifyRequest } from 'fastify';
import { Failure } from '../../../failure.ts';
import type { Fields } from '../../../media/requests/fields.ts';
import type { MediaKind } from '../../../media/task/call.ts';
import { formatValue } from '../../../schema/faults.ts';
import { expected, named } from '../../../schema/fields.ts';
import { isObject } from '../../../schema/untrusted.ts';
import type { Task } from '../../../store/task.ts';
import type { AppContext } from '../../request/app-context.ts';
import { traceOf } from '../../request/request-span.ts';

/** Creates the task of a request with a JSON body. @throws Failure */
export async function submitJson(
  context: AppContext,
  kind: MediaKind,
  request: FastifyRequest,
  fields: Fields,
): Promise<Task> {
  const { media, publicUrl } = context;
  const { holder } = request;
  const idempotencyKey = idempotencyKeyOf(request);
  const trace = traceOf(request, context);
  request.task = await media.submit({
    ...{ kind, fields, holder, idempotencyKey, publicUrl },
    ...trace,
  });
  return request.task;
}

/** @throws Failure invalid_request if the body is not an object */
export function fieldsOf({ body }: FastifyRequest): Fields {
  if (isObject(body)) return body;
  const received = body === undefined ? 'nothing' : formatValue(body, []);
  throw new Failure('invalid_request', named('the body', expected('an object', received)));
}

const PARAM = 'Idempotency-Key';
const KEY = /^[\x20-\x7e]{1,255}$/;

/**
 * The Idempotency-Key of a request, by which a repeated request is executed once; null without one.
 *
 * @throws Failure invalid_request
 */
export function idempotencyKeyOf({ headers }: FastifyRequest): string | null {
  const key = headers['idempotency-key'];
  if (key === undefined) return null;
  if (typeof key === 'string' && KEY.test(key)) return key;
  throw new Failure('invalid_request', `${PARAM}: expected 1 to 255 printable ASCII characters`, {
    param: PARAM,
  });
}
