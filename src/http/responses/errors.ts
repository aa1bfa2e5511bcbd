import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import * as v from 'valibot';
import { HTTP_CODES } from '../../error-codes.ts';
import { type CodeOf, codedFailure, FAILURE_TYPES, Failure } from '../../failure.ts';
import { sizeText } from '../../images/byte-size.ts';
import { field } from '../../schema/fields.ts';
import { dialectAt } from '../../text/dialects/registry.ts';

/** The body of every error response. */
export const errorBody = v.object({
  error: v.object({
    type: v.picklist(FAILURE_TYPES),
    message: v.string(),
    param: v.nullable(v.string()),
    code: v.nullable(
      field(
        v.union([v.picklist(Object.keys(HTTP_CODES) as (keyof typeof HTTP_CODES)[]), v.string()]),
        "one of Oriel's codes, or that of an upstream's error",
      ),
    ),
  }),
});

export function bodyOf({ type, message, param, code }: Failure): v.InferOutput<typeof errorBody> {
  return { error: { type, message, param, code } };
}

/** Codes and messages for Fastify's errors about a request. */
const FASTIFY_ERRORS: Readonly<
  Record<string, readonly [code: CodeOf<'invalid_request'>, message: string]>
> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [
    'unsupported_media_type',
    'the endpoint does not accept this Content-Type',
  ],
  FST_ERR_CTP_EMPTY_JSON_BODY: ['invalid_json', 'the body is empty; expected JSON'],
  FST_ERR_CTP_INVALID_JSON_BODY: ['invalid_json', 'the body is not valid JSON'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [
    'invalid_content_length',
    'the body is not as long as Content-Length says',
  ],
  FST_ERR_BAD_URL: ['invalid_url', 'the path is not valid percent-encoded UTF-8'],
  FST_ERR_MAX_PARAM_LENGTH: ['invalid_url', 'a part of the path is too long'],
};

/** The Failure to send for anything that a handler throws. */
function failureOf(error: unknown, { routeOptions }: FastifyRequest): Failure {
  if (error instanceof Failure) return error;
  if (error instanceof Error && error.cause instanceof Failure) return error.cause;
  const { code = '', statusCode = 500, message } = error as Partial<FastifyError>;
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return requestTooLarge(routeOptions.bodyLimit);
  if (statusCode >= 400 && statusCode < 500) {
    const [known, text] =
      FASTIFY_ERRORS[code] ?? (['invalid_request', message ?? 'invalid request'] as const);
    return new Failure('invalid_request', text, { code: known, status: statusCode, cause: error });
  }
  return codedFailure(
    'internal_error',
    'an internal error; the log of the server has the details',
    { cause: error },
  );
}

function pathOf({ url }: FastifyRequest): string {
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}

/** The Failure to send for anything that a handler throws, which the request's log line names. */
export function reportFailure(error: unknown, request: FastifyRequest): Failure {
  const failure = failureOf(error, request);
  request.failure = failure;
  // A Failure of type unknown comes from a stored task or a provider: it is not a defect of this request.
  const isDefect = failure.type === 'unknown' && failure !== error;
  if (isDefect)
    request.log.error({ err: error, requestId: request.id }, 'a defect, please report it');
  return failure;
}

/** Fastify's error handler: sends any thrown value as an error body. */
export function sendFailure(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const failure = reportFailure(error, request);
  // Hooks do not run for requests that the router refuses.
  reply.header('x-request-id', request.id);
  if (failure.status === 401) reply.header('www-authenticate', 'Bearer');
  if (failure.retryAfter !== null) reply.header('retry-after', Math.ceil(failure.retryAfter));
  // The handler may have set it for a response that failed.
  reply.removeHeader('content-disposition');
  const body = bodyOf(failure);
  const dialect = dialectAt(pathOf(request), request.headers);
  if (dialect?.requestIdHeader !== undefined) reply.header(dialect.requestIdHeader, request.id);
  reply
    .code(failure.status)
    .type('application/json; charset=utf-8')
    .send(jsonLine(dialect?.errorBody?.(body, request.id, failure.status) ?? body));
}

/** @param limit bytes that a request may have */
export function requestTooLarge(limit: number): Failure {
  const message = `the request is larger than ${sizeText(limit)} (${limit} bytes)`;
  return codedFailure('request_too_large', message);
}

/** Retry-After, in seconds. */
const RETRY_AFTER = 5;

export function overloaded(message: string): Failure {
  return codedFailure('overloaded', message, { retryAfter: RETRY_AFTER });
}

/** The failure of new and interrupted requests while the daemon shuts down. */
export function shuttingDown(): Failure {
  return codedFailure('shutting_down', 'the server is shutting down', { retryAfter: RETRY_AFTER });
}

/** A JSON body. It ends with a line feed, so that the shell's prompt after `curl` is on its own line. */
export const jsonLine = (value: unknown): string => `${JSON.stringify(value)}\n`;
