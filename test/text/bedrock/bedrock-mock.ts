import { createHash, createHmac, randomBytes } from 'node:crypto';
import {
  createServer,
  type IncomingMessage,
  type ServerResponse,
  request as send,
} from 'node:http';
import { buffer } from 'node:stream/consumers';
import { openServer } from '../../fixtures/open-server.ts';
import { chunkOf } from './aws-frames.ts';
import { converseFault, converseFrames, converseOf, messagesOf } from './converse-mock.ts';

const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest('hex');
const hmac = (key: string | Buffer, data: string) =>
  createHmac('sha256', key).update(data).digest();
const encoded = (text: string) =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  );

interface Session {
  readonly secret: string;
  readonly token: string;
  endsAt: number;
}

type Refusal = readonly [status: number, name: string, message: string];

/** What AWS's rules for signatures say of a request; null where it is signed well. */
function faultOf(
  { method = '', url = '', headers }: IncomingMessage,
  body: Buffer,
  service: string,
  sessions: ReadonlyMap<string, Session>,
): Refusal | null {
  const [, id = '', day, region, ofService, names = '', signature] =
    /^AWS4-HMAC-SHA256 Credential=(\w+)\/(\d{8})\/([\w-]+)\/(\w+)\/aws4_request, SignedHeaders=([\w;-]+), Signature=(\w{64})$/.exec(
      headers.authorization ?? '',
    ) ?? [];
  const session = sessions.get(id);
  const time = String(headers['x-amz-date']);
  const token = headers['x-amz-security-token'] ?? '';
  if (!session || ofService !== service) return [403, 'UnrecognizedClientException', 'no such key'];
  if (session.token !== token) return [403, 'UnrecognizedClientException', 'invalid token'];
  if (session.endsAt < Date.now()) return [403, 'ExpiredTokenException', 'expired'];
  const signed = names.split(';');
  const required = ['host', 'x-amz-date', ...(token ? ['x-amz-security-token'] : [])];
  const [path = '', query = ''] = url.split('?');
  const canonical = [
    method,
    path.split('/').map(encoded).join('/'),
    query.split('&').sort().join('&'),
    ...signed.map((name) => `${name}:${String(headers[name]).trim()}`),
    '',
    names,
    sha256(body),
  ].join('\n');
  const scope = `${day}/${region}/${service}/aws4_request`;
  const key = [day!, region!, service, 'aws4_request'].reduce<string | Buffer>(
    hmac,
    `AWS4${session.secret}`,
  );
  const own = hmac(key, ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n'));
  const isLate = !time.startsWith(day!) || !required.every((name) => signed.includes(name));
  if (region !== REGION || isLate || own.toString('hex') !== signature) {
    return [
      403,
      'InvalidSignatureException',
      `The Canonical String should have been\n${canonical}`,
    ];
  }
  return null;
}

export const REGION = 'eu-central-1';
export const API_KEY = 'bedrock-api-key-5ecre7';
export const WEB_TOKEN = 'web-identity-5ecre7';
export const SSO_TOKEN = 'sso-token-5ecre7';
export const SESSION_TOKEN = 'static-session-5ecre7';
export const CONTAINER_TOKEN = 'Bearer container-5ecre7';

/** Bedrock before a mock of the formats that its models have, with the services that give sessions. */
export async function startBedrock(target: string) {
  const sessions = new Map<string, Session>([
    ['AKIDSTATIC', { secret: 'static/secret+5ecre7', token: '', endsAt: Infinity }],
    ['ASIASTATIC', { secret: 'static/secret+5ecre7', token: SESSION_TOKEN, endsAt: Infinity }],
  ]);
  const mock = {
    /** Seconds that new sessions last. */
    lifetime: 3600,
    /** Sessions that were given. */
    given: 0,
    /** Requests to services that give sessions, which fail with this status. */
    identityStatus: 200,
    /** Paths of requests for models. */
    paths: [] as string[],
    /** Bodies as they came. */
    // biome-ignore lint/suspicious/noExplicitAny: bodies of two formats
    bodies: [] as any[],
    headers: {} as IncomingMessage['headers'],
    /** Set for an answer in place of the model's. */
    answer: null as ((response: ServerResponse) => void) | null,
    /** Changes the bytes of a stream. */
    change: (bytes: Buffer): Buffer => bytes,
  };
  const newSession = () => {
    mock.given += 1;
    const id = `ASIA${randomBytes(6).toString('hex').toUpperCase()}`;
    const session = {
      ...{ secret: randomBytes(20).toString('base64'), token: randomBytes(60).toString('base64') },
      endsAt: Date.now() + mock.lifetime * 1000,
    };
    sessions.set(id, session);
    const Expiration = new Date(session.endsAt).toISOString();
    return { AccessKeyId: id, SecretAccessKey: session.secret, Token: session.token, Expiration };
  };
  const identity = (request: IncomingMessage, body: Buffer): object | string | null => {
    const { method, url = '', headers } = request;
    const isGet = method === 'GET';
    const hasToken = headers['x-aws-ec2-metadata-token'] === 'imds-token';
    const role = '/latest/meta-data/iam/security-credentials/';
    if (url === '/latest/api/token') {
      const isAsked = method === 'PUT' && headers['x-aws-ec2-metadata-token-ttl-seconds'];
      return isAsked ? 'imds-token' : null;
    }
    if (url === role) return isGet && hasToken ? 'the-role' : null;
    if (url === `${role}the-role`)
      return isGet && hasToken ? { Code: 'Success', ...newSession() } : null;
    if (url === '/container') {
      return isGet && headers.authorization === CONTAINER_TOKEN ? newSession() : null;
    }
    if (url.startsWith('/sso/')) {
      const isRole = url === '/sso/federation/credentials?account_id=123456789012&role_name=Dev';
      if (!isGet || !isRole || headers['x-amz-sso_bearer_token'] !== SSO_TOKEN) return null;
      const { AccessKeyId, SecretAccessKey, Token, Expiration } = newSession();
      const given = { accessKeyId: AccessKeyId, secretAccessKey: SecretAccessKey };
      const expiration = Date.parse(Expiration);
      return { roleCredentials: { ...given, sessionToken: Token, expiration } };
    }
    const form = new URLSearchParams(body.toString());
    const isWeb = form.get('Action') === 'AssumeRoleWithWebIdentity';
    const isKnown = isWeb
      ? form.get('WebIdentityToken') === WEB_TOKEN && headers.authorization === undefined
      : form.get('Action') === 'AssumeRole' && faultOf(request, body, 'sts', sessions) === null;
    if (method !== 'POST' || !isKnown || !form.get('RoleArn')?.startsWith('arn:aws:iam:'))
      return null;
    const { Token, ...others } = newSession();
    const fields = Object.entries({ ...others, SessionToken: Token });
    return `<R xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Credentials>${fields.map(([name, text]) => `<${name}>${text}</${name}>`).join('\n')}</Credentials></R>`;
  };
  const refuse = (response: ServerResponse, [status, name, message]: Refusal) => {
    const type = `${name}:http://internal.amazon.com/coral/com.amazon.bedrock/`;
    response.writeHead(status, { 'x-amzn-errortype': type, 'content-type': 'application/json' });
    response.end(JSON.stringify({ message }));
  };
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const body = Buffer.concat(parts);
    const { url = '', headers } = request;
    if (/^\/(?:latest\/|container|sts|sso)/.test(url)) {
      const answer = mock.identityStatus === 200 ? identity(request, body) : null;
      response.statusCode = answer === null ? Math.max(mock.identityStatus, 401) : 200;
      response.end(typeof answer === 'object' ? JSON.stringify(answer) : answer);
      return;
    }
    const isKey = headers.authorization === `Bearer ${API_KEY}`;
    const fault = isKey ? null : faultOf(request, body, 'bedrock', sessions);
    if (fault) return refuse(response, fault);
    mock.paths.push(url);
    mock.headers = headers;
    if (mock.answer) return mock.answer(response);
    if (url === '/foundation-models') {
      const modelSummaries = [{ modelId: 'anthropic.claude-haiku-4-5-20251001-v1:0' }];
      return response.end(JSON.stringify({ modelSummaries }));
    }
    const given = JSON.parse(body.toString());
    mock.bodies.push(given);
    const [, id = '', action] =
      /^\/model\/([^/]+)\/(invoke(?:-with-response-stream)?|converse(?:-stream)?)$/.exec(url) ?? [];
    const stream = action?.endsWith('-stream') === true;
    const isConverse = action?.startsWith('converse') === true;
    const { anthropic_version: version, anthropic_beta: _, ...own } = given;
    const isInvoked = action !== undefined;
    if (isConverse) {
      const refusal = converseFault(given);
      if (refusal !== null) return refuse(response, [400, 'ValidationException', refusal]);
    } else if (
      isInvoked
        ? version !== 'bedrock-2023-05-31' || 'model' in own || 'stream' in own
        : url !== '/openai/v1/chat/completions'
    ) {
      return refuse(response, [400, 'ValidationException', 'extraneous key']);
    }
    const model = decodeURIComponent(id);
    const invoked = { ...own, model, ...(stream && { stream }) };
    const asked = isConverse ? messagesOf(given, model, stream) : isInvoked ? invoked : given;
    const path = isInvoked ? '/messages' : '/chat/completions';
    const options = { method: 'POST', headers: { 'content-type': 'application/json' } };
    const inner = send(target + path, options, (answer) => {
      const isFrames = isInvoked && answer.headers['content-type']?.startsWith('text/event-stream');
      if (!isFrames) {
        if (isConverse && answer.statusCode === 200) {
          void buffer(answer).then((whole) =>
            response.end(JSON.stringify(converseOf(JSON.parse(whole.toString())))),
          );
          return;
        }
        response.writeHead(answer.statusCode!, answer.headers);
        answer.on('error', () => response.destroy()).pipe(response);
        return;
      }
      response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' });
      let text = '';
      const framesOf = isConverse ? converseFrames() : chunkOf;
      answer.on('data', (chunk) => {
        text += chunk;
        const events = text.split('\n\n');
        text = events.pop()!;
        for (const event of events) {
          const data = /^data: (.*)$/m.exec(event)?.[1];
          if (data !== undefined) response.write(mock.change(framesOf(data)));
        }
      });
      answer.on('error', () => response.destroy());
      answer.on('end', () => response.end(text === '' ? '' : chunkOf(text).subarray(0, 40)));
    });
    response.on('close', () => inner.destroy());
    inner.on('error', () => response.destroy()).end(JSON.stringify(asked));
  });
  server.keepAliveTimeout = 600_000;
  return Object.assign(mock, await openServer(server), { sessions });
}
