import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { valueOr } from '../../src/flow.ts';

export interface Outgoing {
  readonly method?: string;
  readonly path: string;
  readonly key?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** Body of the request; an object is sent as JSON. */
  readonly body?: object | string | Buffer;
  /** Milliseconds without a response after which the request counts as hanging. */
  readonly timeout?: number;
  readonly agent?: Agent;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Milliseconds until the headers arrived. */
  readonly firstByte: number;
  /** Milliseconds until the whole response arrived. */
  readonly total: number;
}

/** A request without a response, or with an incomplete one. */
export class NoAnswer extends Error {
  /** Whether the connection was closed, or the timeout passed. */
  readonly kind: 'cut' | 'hang';
  /** Whether headers of a response arrived. */
  readonly hasHeaders: boolean;

  constructor(kind: 'cut' | 'hang', hasHeaders: boolean, cause?: Error) {
    super(`${kind}${hasHeaders ? ' midway' : ''}: ${cause?.message ?? ''}`);
    this.kind = kind;
    this.hasHeaders = hasHeaders;
  }
}

const HANG_TIMEOUT = 60_000;

const common = new Agent({ keepAlive: true, maxSockets: Infinity });

/** Sends one request and reads its whole response. @throws NoAnswer */
export function ask(base: string, outgoing: Outgoing): Promise<Answer> {
  return exchange(base, outgoing, false);
}

async function exchange(base: string, outgoing: Outgoing, again: boolean): Promise<Answer> {
  const started = performance.now();
  try {
    return await once(base, outgoing);
  } catch (error) {
    // The server may close an idle connection as a request is sent on it: clients resend the request.
    const idle = error instanceof NoAnswer && error.kind === 'cut' && !error.hasHeaders;
    const reused = (error as { reused?: boolean }).reused === true;
    if (!again && idle && reused && performance.now() - started < 1000) {
      return exchange(base, outgoing, true);
    }
    throw error;
  }
}

function once(base: string, outgoing: Outgoing): Promise<Answer> {
  const { method = 'GET', path, key, body, timeout = HANG_TIMEOUT, agent = common } = outgoing;
  const isJson = typeof body === 'object' && !Buffer.isBuffer(body);
  const bytes = isJson ? JSON.stringify(body) : body;
  const headers: Record<string, string> = {
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
    ...(isJson && { 'content-type': 'application/json' }),
    ...(bytes !== undefined && { 'content-length': String(Buffer.byteLength(bytes)) }),
    ...outgoing.headers,
  };
  const started = performance.now();
  return new Promise((resolve, reject) => {
    let hasHeaders = false;
    let hangs = false;
    const request = httpRequest(base + path, { method, headers, agent });
    const timer = setTimeout(() => {
      hangs = true;
      request.destroy(new Error(`no answer in ${timeout} ms`));
    }, timeout);
    const fail = (error?: Error) => {
      clearTimeout(timer);
      const failure = new NoAnswer(hangs ? 'hang' : 'cut', hasHeaders, error);
      reject(Object.assign(failure, { reused: request.reusedSocket }));
    };
    request.on('error', fail);
    request.on('response', (response) => {
      hasHeaders = true;
      const firstByte = performance.now() - started;
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', fail);
      response.on('close', () => {
        if (!response.complete) fail();
      });
      response.on('end', () => {
        clearTimeout(timer);
        resolve({
          status: response.statusCode!,
          headers: response.headers,
          body: Buffer.concat(chunks),
          firstByte,
          total: performance.now() - started,
        });
      });
    });
    request.end(bytes);
  });
}

export function jsonOf(answer: Answer): unknown {
  return valueOr(() => JSON.parse(answer.body.toString()), undefined);
}

export interface FormPart {
  readonly name: string;
  readonly value: string | Buffer;
  readonly filename?: string;
  readonly type?: string;
}

export const BOUNDARY = 'torture-boundary-7d1f';

/** A multipart form, as body and header. */
export function form(parts: readonly FormPart[]): {
  body: Buffer;
  headers: Record<string, string>;
} {
  const pieces = parts.flatMap(({ name, value, filename, type }) => [
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"`,
    filename === undefined ? '' : `; filename="${filename}"`,
    type === undefined ? '' : `\r\nContent-Type: ${type}`,
    '\r\n\r\n',
    value,
    '\r\n',
  ]);
  const body = Buffer.concat([...pieces, `--${BOUNDARY}--\r\n`].map((piece) => Buffer.from(piece)));
  return { body, headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` } };
}
