import { type Answer, jsonOf } from './client.ts';

const TYPES = new Set([
  'invalid_request',
  'auth_error',
  'rate_limit',
  'insufficient_quota',
  'content_policy',
  'timeout',
  'network_error',
  'service_error',
  'billable_error',
  'unknown',
]);

/** Statuses of the 5xx class that are documented; 500 is a defect. */
const UNAVAILABLE = new Set([502, 503, 504]);

/** A line of a V8 stack trace, or a path of the daemon's own files. */
const TRACE = /\n\s+at [\w.<>$[\] ]+ \(|node:internal\/|dist\/src\/|node_modules\//;

export interface ErrorBody {
  readonly type?: unknown;
  readonly error: {
    readonly type: string;
    readonly message: string;
    readonly param?: string | null;
    readonly code?: string | null;
  };
}

/** What is wrong with one answer, whatever was asked: a sentence each. */
export function answerFaults(path: string, answer: Answer): string[] {
  const { status, headers, body } = answer;
  const faults: string[] = [];
  const start = () => body.subarray(0, 300).toString();
  if (headers['x-request-id'] === undefined && status !== 431 && status !== 408) {
    // The HTTP parser's own refusals have no request, and therefore no identifier.
    if (status !== 400) faults.push(`${status} without x-request-id`);
  }
  const text = status >= 400 || body.length < 65_536 ? body.toString() : '';
  const type = String(headers['content-type'] ?? '');
  if (/json|event-stream/.test(type) && TRACE.test(text)) faults.push(`a stack trace: ${start()}`);
  if (status < 400) return faults;
  if (status >= 500 && !UNAVAILABLE.has(status)) faults.push(`status ${status}: ${start()}`);
  const error = jsonOf(answer) as ErrorBody | undefined;
  const { error: details } = error ?? {};
  if (details === undefined || typeof details !== 'object' || details === null) {
    faults.push(`${status} without an error body: ${start()}`);
    return faults;
  }
  if (!TYPES.has(details.type)) faults.push(`${status}: error.type is ${String(details.type)}`);
  if (typeof details.message !== 'string' || details.message === '') {
    faults.push(`${status}: error.message is ${JSON.stringify(details.message)}`);
  }
  if (path.startsWith('/v1/messages') && path.split('?', 1)[0] === '/v1/messages') {
    // The messages format wants it beside the error; the HTTP parser does not know the path.
    if (error?.type !== 'error' && headers['x-request-id'] !== undefined) {
      faults.push(`${status}: a messages error without "type": "error"`);
    }
  }
  if ((status === 429 || status === 503) && headers['x-request-id'] !== undefined) {
    if (status === 429 && headers['retry-after'] === undefined) {
      faults.push(`429 without Retry-After: ${start()}`);
    }
  }
  return faults;
}

export interface StreamEvent {
  readonly event: string | null;
  readonly data: unknown;
}

/** The events of a stream, read strictly. @returns null where it is no event stream of valid JSON */
export function eventsOf(text: string): StreamEvent[] | null {
  if (text === '') return [];
  if (!text.endsWith('\n\n')) return null;
  const events: StreamEvent[] = [];
  for (const frame of text.slice(0, -2).split('\n\n')) {
    const lines = frame.split('\n').filter((line) => !line.startsWith(':'));
    if (lines.length === 0) continue;
    const event = lines.find((line) => line.startsWith('event: '))?.slice(7) ?? null;
    const data = lines.filter((line) => line.startsWith('data: ')).map((line) => line.slice(6));
    if (data.length !== 1) return null;
    try {
      events.push({ event, data: data[0] === '[DONE]' ? '[DONE]' : JSON.parse(data[0]!) });
    } catch {
      return null;
    }
  }
  return events;
}

/** How a stream ended: as complete, with its format's error event, or with neither. */
export function endOf(path: string, events: readonly StreamEvent[]): 'complete' | 'error' | 'none' {
  const last = events.at(-1);
  const { data } = last ?? {};
  const type = (data as { type?: unknown } | null)?.type;
  if (path === '/v1/chat/completions') {
    if (data === '[DONE]') return 'complete';
    return typeof data === 'object' && data !== null && 'error' in data ? 'error' : 'none';
  }
  if (path === '/v1/responses') {
    if (type === 'response.completed' || type === 'response.incomplete') return 'complete';
    return type === 'response.failed' || type === 'error' ? 'error' : 'none';
  }
  if (type === 'message_stop') return 'complete';
  return type === 'error' ? 'error' : 'none';
}
