import { FAILURE_TYPES, Failure, type FailureType } from '../../failure.ts';
import type { UpstreamResponse } from '../../upstream/response.ts';

/** The `error` of an error response of the daemon. */
interface ErrorBody {
  readonly type: FailureType | null;
  readonly code: string | null;
  readonly message: string;
}

/**
 * The failure of an error response, with advice. It has no `param`, by which main recognises errors
 * in the command line.
 */
export async function failureOfResponse(
  exchange: UpstreamResponse,
  { url, hasKey }: { readonly url: string; readonly hasKey: boolean },
): Promise<Failure> {
  const body = await exchange.bytes(1024 * 1024).catch(() => Buffer.alloc(0));
  const error = errorIn(body.toString());
  const { status } = exchange;
  const wait = secondsToWait(exchange);
  const details = { status, ...(wait !== null && { retryAfter: wait }) };
  const reason = error === null ? '' : ` (${error.message})`;
  if (status === 401) {
    const lack = hasKey ? 'the key is refused' : 'the daemon asks for a key';
    return new Failure(
      'auth_error',
      `${lack}${reason}; \`oriel keys create --account NAME\` makes one, for --key or ORIEL_API_KEY`,
      details,
    );
  }
  if (status === 402) {
    return new Failure(
      'insufficient_quota',
      `not enough credits${reason}; \`oriel accounts grant NAME CREDITS\` adds some`,
      details,
    );
  }
  if (status === 429) {
    const when = wait === null ? 'try again later' : `try again in ${wait} s`;
    return new Failure('rate_limit', `too many requests${reason}; ${when}`, details);
  }
  if (error?.type === 'content_policy' || error?.code === 'content_policy') {
    return new Failure('content_policy', `the prompt is not allowed${reason}`, details);
  }
  return new Failure(
    error?.type ?? 'service_error',
    error?.message ?? `${url} answered with status ${status}, and not as a gateway to models does`,
    details,
  );
}

/** The message of an error body; null where the text is none. */
export function messageOf(text: string): string | null {
  return errorIn(text)?.message ?? null;
}

function errorIn(text: string): ErrorBody | null {
  try {
    const { error } = JSON.parse(text) as { error?: Record<string, unknown> | string };
    const { type, code, message } = typeof error === 'string' ? { message: error } : (error ?? {});
    if (typeof message !== 'string' || message === '') return null;
    return {
      type: FAILURE_TYPES.find((known) => known === type) ?? null,
      code: typeof code === 'string' ? code : null,
      message,
    };
  } catch {
    return null;
  }
}

/** Retry-After of a response, in seconds from now; null without one. */
export function secondsToWait({ headers }: Pick<UpstreamResponse, 'headers'>): number | null {
  const text = headers['retry-after']?.trim();
  if (text === undefined || text === '') return null;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - Date.now()) / 1000));
}
