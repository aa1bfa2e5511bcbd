import { createHmac } from 'node:crypto';
import { type IncomingHttpHeaders, request } from 'node:http';

export const KEY = 'a key that signs images'.replaceAll(' ', '-');

/** The path of an image, signed as the documentation says. @param path `STEPS/SOURCE` as it is sent */
export function signed(path: string, key = KEY): string {
  const signature = createHmac('sha256', key).update(`/${path}`).digest('base64url');
  return `/img/${signature}/${path}`;
}

export interface ImageResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Sends a request whose path is not normalised, as `fetch` would. */
export function get(
  url: string,
  path: string,
  { method = 'GET', headers = {} }: { method?: string; headers?: Record<string, string> } = {},
): Promise<ImageResponse> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const sent = request({ hostname, port, path, method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const { statusCode: status = 0, headers: received } = response;
        resolve({ status, headers: received, body: Buffer.concat(chunks) });
      });
    });
    sent.on('error', reject);
    sent.end();
  });
}

/** Status and code of an error, or status and media type of an image. */
export function outcome({ status, headers, body }: ImageResponse): string {
  const type = String(headers['content-type']).split(';')[0]!;
  if (type !== 'application/json') return `${status} ${type}`;
  return `${status} ${(JSON.parse(String(body)) as { error: { code: string } }).error.code}`;
}
