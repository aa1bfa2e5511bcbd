import { valueOr } from '../../src/flow.ts';
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

/** Codes of malformed HTTP requests, which have no path and no request id. */
const PARSER = new Set(['malformed_request', 'headers_too_large', 'request_timeout']);

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

/** Violations of the rules for every response, one sentence each. */
export function answerFaults(path: string, answer: Answer): string[] {
  const { status, headers, body } = answer;
  const faults: string[] = [];
  const start = () => body.subarray(0, 300).toString();
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
  const isParsers = PARSER.has(details.code ?? '');
  if (headers['x-request-id'] === undefined && !isParsers)
    faults.push(`${status} without x-request-id`);
  if (typeof details.message !== 'string' || details.message === '') {
    faults.push(`${status}: error.message is ${JSON.stringify(details.message)}`);
  }
  // The messages format has a type beside the error.
  if (path.split('?', 1)[0] === '/v1/messages' && error?.type !== 'error' && !isParsers) {
    faults.push(`${status}: a messages error without "type": "error"`);
  }
  // An upstream's 429 has no code of Oriel's, and may have no Retry-After.
  const isOurs = (details.code ?? null) !== null;
  if (status === 429 && isOurs && headers['retry-after'] === undefined) {
    faults.push(`429 without Retry-After: ${start()}`);
  }
  return faults;
}

export interface StreamEvent {
  readonly event: string | null;
  readonly data: unknown;
}

/**
 * Parses the events of a stream by the HTML standard. Data that is not JSON is undefined.
 *
 * @returns null if the stream ends within an event
 */
export function eventsOf(text: string): StreamEvent[] | null {
  const events: StreamEvent[] = [];
  let event: string | null = null;
  let data: string[] = [];
  const lines = text.split(/\r\n|\n|\r/);
  for (const line of lines) {
    if (line === '') {
      if (data.length > 0) events.push({ event, data: parsed(data.join('\n')) });
      event = null;
      data = [];
    }
    const [, name, value = ''] = /^([^:]+)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === 'event') event = value;
    if (name === 'data') data.push(value);
  }
  return data.length > 0 || lines.at(-1) !== '' ? null : events;
}

function parsed(data: string): unknown {
  if (data === '[DONE]') return data;
  return valueOr(() => JSON.parse(data), undefined);
}

/** End of a stream: complete, with its format's error event, or neither. */
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
  if (path.startsWith('/v1beta/')) {
    const { candidates, error } = (data ?? {}) as { candidates?: object[]; error?: object };
    if (error !== undefined) return 'error';
    return candidates?.some((each) => 'finishReason' in each) ? 'complete' : 'none';
  }
  if (type === 'message_stop') return 'complete';
  return type === 'error' ? 'error' : 'none';
}
