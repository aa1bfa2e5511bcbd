import { FAILURE_TYPES, Failure, type FailureType } from '../../failure.ts';
import type { UpstreamResponse } from '../../upstream/response.ts';

/** What an error body of interface part 2.1 says. */
interface Told {
  readonly type: FailureType | null;
  readonly code: string | null;
  readonly message: string;
}

/**
 * What a daemon's answer that is no good one means, and what may help. It names no parameter: that
 * would make it a fault of the command line.
 */
export async function refusalOf(
  exchange: UpstreamResponse,
  { url, hasKey }: { readonly url: string; readonly hasKey: boolean },
): Promise<Failure> {
  const body = await exchange.bytes(1024 * 1024).catch(() => Buffer.alloc(0));
  const told = toldIn(body.toString());
  const { status } = exchange;
  const wait = secondsToWait(exchange);
  const details = { status, ...(wait !== null && { retryAfter: wait }) };
  const said = told === null ? '' : ` (${told.message})`;
  if (status === 401) {
    const lack = hasKey ? 'the key is refused' : 'the daemon asks for a key';
    return new Failure(
      'auth_error',
      `${lack}${said}; \`oriel keys create --account NAME\` makes one, for --key or ORIEL_API_KEY`,
      details,
    );
  }
  if (status === 402) {
    return new Failure(
      'insufficient_quota',
      `not enough credits${said}; \`oriel accounts grant NAME CREDITS\` adds some`,
      details,
    );
  }
  if (status === 429) {
    const when = wait === null ? 'try again later' : `try again in ${wait} s`;
    return new Failure('rate_limit', `too many requests${said}; ${when}`, details);
  }
  if (told?.type === 'content_policy' || told?.code === 'content_policy') {
    return new Failure('content_policy', `the prompt is not allowed${said}`, details);
  }
  return new Failure(
    told?.type ?? 'service_error',
    told?.message ?? `${url} answered with status ${status}, and not as a gateway to models does`,
    details,
  );
}

/** What an error body says; null where it is none. */
export function messageOf(text: string): string | null {
  return toldIn(text)?.message ?? null;
}

function toldIn(text: string): Told | null {
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

/** What an answer's Retry-After says, in seconds from now; null where it says nothing. */
export function secondsToWait({ headers }: Pick<UpstreamResponse, 'headers'>): number | null {
  const text = headers['retry-after']?.trim();
  if (text === undefined || text === '') return null;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - Date.now()) / 1000));
}
