import { tryParseJson } from '../../schema/json.ts';
import { objectOf, textOf } from '../../schema/untrusted.ts';
import type { Authorization, Authorize, UpstreamResponse } from '../response.ts';
import { readBytes } from '../response-handler.ts';
import { errorCode, FrameDecoder } from './event-stream.ts';
import { type AwsIdentity, sessionsOf } from './identity.ts';
import { signatureHeaders } from './signature.ts';

/** Errors after which a session is not used again. */
const SESSION_ERRORS = /^(?:ExpiredToken|UnrecognizedClient|InvalidClientTokenId|InvalidSignature)/;

/** The header that names an error: `ThrottlingException`, also where an address follows it. */
const ERROR_NAME = 'x-amzn-errortype';

const FRAMES = /^application\/vnd\.amazon\.eventstream\b/i;

/** Characters of an error that are read. */
const MAX_ERROR = 64 * 1024;

/**
 * Signs a request to Bedrock, whose streams and errors are read as those of Anthropic.
 *
 * @param identity null where the request has an API key
 */
export async function authorizeAws(
  identity: AwsIdentity | null,
  ...[url, request, upstream]: Parameters<Authorize>
): Promise<Authorization> {
  if (identity === null) return { headers: {}, read: readable };
  const sessions = sessionsOf(identity);
  const credentials = await sessions.take(upstream);
  const scope = { region: identity.region, credentials };
  return {
    headers: signatureHeaders(url, 'bedrock', request, scope),
    read(response) {
      if (SESSION_ERRORS.test(response.headers[ERROR_NAME] ?? '')) sessions.forget(credentials);
      return readable(response, credentials.sessionToken);
    },
  };
}

/** @param secret the token of the session: AWS shows the request that it expected */
function readable(response: UpstreamResponse, secret = '\0'): UpstreamResponse {
  const { status, headers } = response;
  const [name = ''] = (headers[ERROR_NAME] ?? '').split(':', 1);
  const isStream = FRAMES.test(headers['content-type'] ?? '');
  if (!isStream && name === '' && status < 400) return response;
  const read = async (onData: (chunk: Buffer) => boolean): Promise<void> => {
    const frames = new FrameDecoder();
    let error = '';
    await response.read((chunk) => {
      if (!isStream) error = (error + chunk).slice(0, MAX_ERROR);
      const events = isStream ? frames.push(chunk) : '';
      return events === '' || onData(Buffer.from(events));
    });
    frames.end();
    if (isStream) return;
    const text = error.replaceAll(secret, '***');
    const { message, Message = message } = objectOf(tryParseJson(text));
    const named = { code: errorCode(name), message: textOf(Message) || text };
    onData(Buffer.from(name === '' ? text : JSON.stringify(named)));
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
