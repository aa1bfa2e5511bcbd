import type { Json } from '../../canonical.ts';

/** Google's words for errors by HTTP status. */
const STATUS = new Map([
  [400, 'INVALID_ARGUMENT'],
  [401, 'UNAUTHENTICATED'],
  [402, 'FAILED_PRECONDITION'],
  [403, 'PERMISSION_DENIED'],
  [404, 'NOT_FOUND'],
  [413, 'INVALID_ARGUMENT'],
  [429, 'RESOURCE_EXHAUSTED'],
  [502, 'UNAVAILABLE'],
  [503, 'UNAVAILABLE'],
  [504, 'DEADLINE_EXCEEDED'],
]);

interface Failed {
  readonly type: string;
  readonly message: string;
  readonly param: string | null;
  readonly code: string | null;
}

/** An error in Google's shape, with Oriel's type, code and parameter in its details. */
export function googleError({ type, message, param, code }: Failed, status: number): Json {
  const metadata = { type, ...(param !== null && { param }) };
  return {
    error: {
      code: status,
      message,
      status: STATUS.get(status) ?? (status < 500 ? 'FAILED_PRECONDITION' : 'INTERNAL'),
      details: [
        {
          '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
          reason: code ?? type,
          domain: 'oriel',
          metadata,
        },
      ],
    },
  };
}
