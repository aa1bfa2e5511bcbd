import { tryParseJson } from '../../schema/json.ts';
import { objectOf, textOf } from '../../schema/untrusted.ts';
import type { UpstreamRequest } from '../request.ts';
import type { Authorization, Upstream, UpstreamResponse } from '../response.ts';
import { readBytes } from '../response-handler.ts';
import { errorCode, eventOf, FrameReader } from './event-stream.ts';
import { type AwsIdentity, sessionsOf } from './identity.ts';
import { signatureHeaders } from './signature.ts';

/** Errors after which a session is not used again. */
const SESSION_ERRORS = /^(?:ExpiredToken|UnrecognizedClient|InvalidClientTokenId|InvalidSignature)/;

const FRAMES = /^application\/vnd\.amazon\.eventstream\b/i;

/** Characters of an error that are read. */
const MAX_ERROR = 64 * 1024;

/**
 * Signs a request to a service of AWS, whose streams and errors are read as those of Anthropic.
 *
 * @param identity null where the request has an API key
 */
export async function authorizeAws(
  service: string,
  identity: AwsIdentity | null,
  url: string,
  request: UpstreamRequest,
  upstream: Upstream,
): Promise<Authorization> {
  if (identity === null) return { headers: {}, read: (response) => readable(response, '') };
  const sessions = sessionsOf(identity);
  const credentials = await sessions.take(upstream);
  return {
    headers: signatureHeaders(url, service, request, { region: identity.region, credentials }),
    read(response) {
      if (SESSION_ERRORS.test(errorName(response) ?? '')) sessions.forget(credentials);
      return readable(response, credentials.sessionToken);
    },
  };
}

/** `ThrottlingException`, also where an address follows it. */
function errorName({ headers }: UpstreamResponse): string | undefined {
  return headers['x-amzn-errortype']?.split(':', 1)[0];
}

/** @param secret the token of the session: AWS shows the request that it expected */
function readable(response: UpstreamResponse, secret = ''): UpstreamResponse {
  const { status, headers } = response;
  const name = errorName(response);
  const isStream = FRAMES.test(headers['content-type'] ?? '');
  if (!isStream && name === undefined) return response;
  const read = async (onData: (chunk: Buffer) => boolean): Promise<void> => {
    const frames = new FrameReader();
    let error = '';
    await response.read((chunk) => {
      if (!isStream) error = (error + chunk).slice(0, MAX_ERROR);
      const events = isStream ? frames.push(chunk).map(eventOf).join('') : '';
      return events === '' || onData(Buffer.from(events));
    });
    frames.end();
    if (isStream) return;
    const { message, Message = message } = objectOf(tryParseJson(error));
    const text = (textOf(Message) || error).replaceAll(secret || '\0', '***');
    onData(Buffer.from(JSON.stringify({ code: errorCode(name!), message: text })));
  };
  return {
    status,
    headers: isStream ? { ...headers, 'content-type': 'text/event-stream' } : headers,
    read,
    bytes: (limit) => readBytes({ read }, 'The provider', limit),
    resume: () => response.resume(),
    abort: () => response.abort(),
  };
}
