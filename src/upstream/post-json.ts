import { valueOr } from '../flow.ts';
import { UpstreamClient } from './client.ts';

interface JsonResponse {
  readonly status: number;
  /** Parsed body; undefined where it is no JSON. */
  readonly body: unknown;
}

interface PostOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Milliseconds until the last byte of the response. */
  readonly timeout: number;
}

const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;

/**
 * Sends JSON to another server over a connection of its own, and reads the response as JSON, whatever
 * its status. Never retries.
 *
 * @throws Failure as `UpstreamClient.open` does
 */
export async function postJson(
  url: string,
  body: unknown,
  { headers, timeout }: PostOptions,
): Promise<JsonResponse> {
  const client = new UpstreamClient();
  try {
    const response = await client.open(url, {
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      timeouts: { connect: timeout, firstByte: 0, idle: 0, total: timeout },
      signal: new AbortController().signal,
    });
    const text = (await response.bytes(MAX_RESPONSE_BYTES)).toString();
    return {
      status: response.status,
      body: valueOr<unknown, undefined>(() => JSON.parse(text), undefined),
    };
  } finally {
    await client.close();
  }
}
