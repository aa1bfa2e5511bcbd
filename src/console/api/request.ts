import { Listeners } from './listeners.ts';
/**
 * Address of the server, with a slash at its end. The scripts are in `console/assets/` below it, so this
 * holds below any path of a proxy.
 */
export const SERVER = new URL('../../', import.meta.url);

/** A path with its query, if there is any. */
export function withQuery(path: string, query: URLSearchParams): string {
  return query.size === 0 ? path : `${path}?${query}`;
}

/** An error of the server, as its error body has it. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** HTTP status; 0 if no response came. */
  readonly status: number = 0;
  readonly type: string = 'unknown';
  readonly code: string | null = null;
  /** Field of the request that was refused. */
  readonly param: string | null = null;
  /** Finds the request in the log of the server. */
  readonly requestId: string | null = null;
  /** Seconds until a retry may succeed. */
  readonly retryAfter: number | null = null;

  constructor(message: string, fields: ErrorFields = {}) {
    super(message);
    Object.assign(this, fields);
  }
}

/** What is known of an error beside its message. */
export type ErrorFields = Partial<Omit<ApiError, keyof Error>>;

export interface RequestOptions {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Sent as JSON. */
  readonly json?: unknown;
  readonly form?: FormData;
  readonly headers?: Readonly<Record<string, string>>;
  /** Aborts the request and the reading of its response. */
  readonly signal?: AbortSignal | undefined;
}

/** Called when the server refuses the session: it has ended, or its key was revoked. */
export const sessionEnd = new Listeners();

/**
 * Sends a request to the server, with the session.
 *
 * @param path relative to the server, without a slash at the start: `v1/models`
 * @throws ApiError for a status other than 2xx, and where no response comes
 * @throws DOMException AbortError once the signal is aborted
 */
export async function send(path: string, options: RequestOptions = {}): Promise<Response> {
  const { json, form, headers = {}, signal, method } = options;
  const body = json === undefined ? form : JSON.stringify(json);
  let response: Response;
  try {
    response = await fetch(new URL(path, SERVER), {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: { ...(json !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body }),
      ...(signal && { signal }),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw noAnswer();
  }
  return accepted(response, headers['authorization'] === undefined);
}

/** The response if its status is 2xx. @throws ApiError */
async function accepted(response: Response, isOfSession: boolean): Promise<Response> {
  if (response.ok) return response;
  const error = await errorOf(response);
  if (error.status === 401 && isOfSession) sessionEnd.call();
  throw error;
}

/**
 * Sends a form and reports which share of it has been sent, which `fetch` cannot.
 *
 * @param onProgress gets a share from 0 to 1
 * @throws ApiError, and AbortError as `send` does
 */
export function upload(
  path: string,
  form: FormData,
  signal: AbortSignal,
  onProgress: (share: number) => void,
): Promise<Response> {
  const request = new XMLHttpRequest();
  const answered = new Promise<Response>((resolve, reject) => {
    const abort = () => request.abort();
    signal.addEventListener('abort', abort);
    request.addEventListener('loadend', () => signal.removeEventListener('abort', abort));
    request.upload.addEventListener('progress', ({ loaded, total }) => onProgress(loaded / total));
    request.upload.addEventListener('load', () => onProgress(1));
    request.addEventListener('load', () => resolve(responseOf(request)));
    request.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError')));
    request.addEventListener('error', () => reject(noAnswer()));
    request.open('POST', new URL(path, SERVER));
    request.responseType = 'blob';
    if (signal.aborted) reject(new DOMException('aborted', 'AbortError'));
    else request.send(form);
  });
  return answered.then((response) => accepted(response, true));
}

function responseOf(request: XMLHttpRequest): Response {
  const headers = new Headers();
  for (const name of ['content-type', 'retry-after', 'x-request-id']) {
    const value = request.getResponseHeader(name);
    if (value !== null) headers.set(name, value);
  }
  return new Response(request.response as Blob, { status: request.status, headers });
}

function noAnswer(): ApiError {
  return new ApiError('The server does not answer. Check that it runs and try again.', {
    type: 'network_error',
  });
}

/** Sends a request and reads the JSON of its response. */
export async function sendJson<Answer>(path: string, options?: RequestOptions): Promise<Answer> {
  const response = await send(path, options);
  return (await response.json()) as Answer;
}

/** The error of a response, in the shape of any of the text formats. */
async function errorOf(response: Response): Promise<ApiError> {
  const { status, headers } = response;
  const text = await response.text().catch(() => '');
  const retryAfter = Number(headers.get('retry-after'));
  let error: Readonly<Record<string, unknown>> = {};
  try {
    const body = JSON.parse(text) as { readonly error?: object } | null;
    error = (body?.error ?? body ?? {}) as typeof error;
  } catch {
    // A proxy may answer in its own format.
  }
  const textOf = (value: unknown) => (typeof value === 'string' ? value : null);
  return new ApiError(textOf(error['message']) ?? `The server answered with status ${status}.`, {
    status,
    requestId: headers.get('x-request-id'),
    retryAfter: retryAfter > 0 ? retryAfter : null,
    type: textOf(error['type']) ?? textOf(error['status']) ?? 'unknown',
    code: textOf(error['code']),
    param: textOf(error['param']),
  });
}

/** Anything that was thrown as an error to show. */
export function apiErrorOf(error: unknown): ApiError {
  return error instanceof ApiError ? error : new ApiError(String(error));
}

export function isAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}
