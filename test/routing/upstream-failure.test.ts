import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FAILURE_TYPES, Failure } from '../../src/failure.ts';
import { canFailOver, isRetriable } from '../../src/routing/retry-policy.ts';
import { upstreamFailure } from '../../src/routing/upstream-failure.ts';
import { runs } from '../runs.ts';

const SECRET = 'sk-proj-Abcdefghijklmnopqrstuvwxyz0123456789wxyz';

function openai(type: string | null, code: string | null = null, param: string | null = null) {
  return { error: { message: 'The words of it', type, param, code } };
}

function anthropic(type: string, message = 'The words of it') {
  return { type: 'error', error: { type, message }, request_id: 'req_1' };
}

// Kinds of failures, with Oriel's code where the upstream's own is not passed on.
const AUTH = { type: 'service_error', status: 502, code: 'upstream_auth' };
const BILLABLE = { type: 'billable_error', status: 502, code: 'upstream_failed' };
const CONFLICT = { type: 'service_error', status: 502, code: 'upstream_conflict' };
const FAILED = { type: 'service_error', status: 502, code: 'upstream_failed' };
const NOT_FOUND = { type: 'service_error', status: 502, code: 'upstream_not_found' };
const OVERLOADED = { type: 'service_error', status: 503, code: 'upstream_overloaded' };
const QUOTA = { type: 'service_error', status: 503, code: 'upstream_quota' };
const REDIRECT = { type: 'service_error', status: 502, code: 'upstream_redirect' };
const REFUSED = { type: 'service_error', status: 502, code: 'upstream_refused' };
const TIMEOUT = { type: 'timeout', status: 504, code: 'upstream_timeout' };
const INVALID = { type: 'invalid_request', status: 400 };
const MISSING = { type: 'invalid_request', status: 404 };
const TOO_LARGE = { type: 'invalid_request', status: 413 };
const CONTENT = { type: 'content_policy', status: 400 };
const RATE = { type: 'rate_limit', status: 429 };

describe('upstreamFailure', () => {
  it.each<[number | null, unknown, object, string?]>([
    // OpenAI
    [
      400,
      openai('invalid_request_error', 'invalid_value', 'messages[0].role'),
      INVALID,
      'invalid_value',
    ],
    [
      400,
      openai('invalid_request_error', 'context_length_exceeded', 'messages'),
      INVALID,
      'context_length_exceeded',
    ],
    [
      400,
      openai('invalid_request_error', 'content_policy_violation'),
      CONTENT,
      'content_policy_violation',
    ],
    [400, openai(null, 'content_filter', 'prompt'), CONTENT, 'content_filter'],
    [400, openai('invalid_request_error', 'model_not_found', 'model'), NOT_FOUND],
    [
      400,
      openai('invalid_request_error', 'previous_response_not_found', 'previous_response_id'),
      INVALID,
      'previous_response_not_found',
    ],
    [401, openai('invalid_request_error', 'invalid_api_key'), AUTH],
    [403, openai('request_forbidden', 'unsupported_country_region_territory'), AUTH],
    [404, openai('invalid_request_error', 'model_not_found'), NOT_FOUND],
    [404, openai('invalid_request_error', null, 'input'), MISSING],
    [429, openai('requests', 'rate_limit_exceeded'), RATE, 'rate_limit_exceeded'],
    [429, openai('insufficient_quota', 'insufficient_quota'), QUOTA],
    [500, openai('server_error'), FAILED],
    [503, openai('server_error', 'slow_down'), OVERLOADED],
    // Anthropic
    [400, anthropic('invalid_request_error'), INVALID],
    [400, anthropic('invalid_request_error', 'Your credit balance is too low to access'), QUOTA],
    [401, anthropic('authentication_error'), AUTH],
    [403, anthropic('permission_error'), AUTH],
    [404, anthropic('not_found_error'), NOT_FOUND],
    [413, anthropic('request_too_large'), TOO_LARGE],
    [429, anthropic('rate_limit_error'), RATE],
    [500, anthropic('api_error'), FAILED],
    [504, anthropic('timeout_error'), TIMEOUT],
    [529, anthropic('overloaded_error'), OVERLOADED],
    // Another gateway of our kind
    [402, openai('insufficient_quota'), QUOTA],
    [403, openai('auth_error'), AUTH],
    [502, openai('billable_error'), BILLABLE],
    [502, openai('network_error', 'unreachable'), FAILED],
    // By the status alone
    [301, '', REDIRECT],
    [402, '', QUOTA],
    [405, '', NOT_FOUND],
    [408, '', TIMEOUT],
    [409, '', CONFLICT],
    [418, '', REFUSED],
    [422, '', INVALID],
    [425, '', CONFLICT],
    [503, '', FAILED],
    [524, '', TIMEOUT],
    [599, '', FAILED],
    // In a stream, or in an answer that pretends to be well
    [null, openai('server_error'), FAILED],
    [null, anthropic('overloaded_error'), OVERLOADED],
    [null, anthropic('rate_limit_error'), RATE],
    [null, anthropic('invalid_request_error'), INVALID],
    [
      null,
      { type: 'error', code: 'rate_limit_exceeded', message: 'm', param: null },
      RATE,
      'rate_limit_exceeded',
    ],
    [null, { code: 'server_error', message: 'm' }, FAILED],
    [null, { code: 'content_filter', message: 'm' }, CONTENT, 'content_filter'],
    [null, { error: { code: 429, message: 'm' } }, RATE],
    [null, { error: { code: 400, status: 'INVALID_ARGUMENT', message: 'm' } }, INVALID],
    [null, { response: { error: { code: 'insufficient_quota', message: 'm' } } }, QUOTA],
    [null, undefined, FAILED],
    [200, anthropic('timeout_error'), TIMEOUT],
  ])('classifies status %s and body %j as %j', (status, body, kind, code) => {
    expect(upstreamFailure(status, body)).toMatchObject({ code: code ?? null, ...kind });
  });

  it.each([
    "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
    'Your input exceeds the context window of this model.',
    'prompt is too long: 205000 tokens > 200000 maximum',
    'input length and `max_tokens` exceed context limit: 199000 + 32000 > 200000',
    'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
    'Prompt contains 40000 tokens, too large for model with 32768 maximum context length',
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    'the request exceeds the available context size, try increasing it',
    'The decoder prompt (length 40000) is longer than the maximum model length of 32768.',
    'Input is too long for requested model.',
    'too many tokens: total number of tokens in the prompt cannot exceed 4081',
    'Invalid request: Your request exceeded model token limit: 8192',
    'Prompt exceeds max length',
    'Range of input length should be [1, 30720]',
    '`inputs` must have less than 1000 tokens. Given: 1500',
    'Please reduce the length of the messages or completion.',
    'Unable to submit request because the input token count is 36866 but model only supports up to 32768.',
    'Request body too large for gpt-4o model. Max size: 8000 tokens.',
    'Prompt length (9000) exceeds maximum input length (8192)',
    'Input Tokens Exceeded: Number of input tokens exceeds maximum length.',
    'Total tokens of image and text exceed max message tokens',
    'length of prompt_tokens (9000) must be less than max_seq_len (8192).',
    'Prompt 超长',
  ])('has one code for an overflow of the context: %s', (message) => {
    const expected = { type: 'invalid_request', status: 400, code: 'context_length_exceeded' };
    for (const status of [400, 413, 422, null]) {
      expect(upstreamFailure(status, { error: { message } })).toMatchObject({
        ...expected,
        message,
      });
    }
    expect(upstreamFailure(429, { error: { message } }).type).toBe('rate_limit');
  });

  it.each([
    'max_tokens is too large: 100000. This model supports at most 16384 completion tokens.',
    'it has a maxOutputTokens value of 99999 but the supported range is from 1 to 65537.',
    "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64.",
    'image exceeds 5 MB maximum: 6 MB > 5 MB',
  ])('does not take other limits for an overflow of the context: %s', (message) => {
    expect(upstreamFailure(400, { error: { message } }).code).toBeNull();
  });

  it('names the field of an invalid request', () => {
    const param = 'tools[0].function.name';
    const body = openai('invalid_request_error', 'invalid_value', param);
    expect(upstreamFailure(400, body)).toMatchObject({ param, message: 'The words of it' });
    expect(upstreamFailure(429, body).param).toBeNull();
  });

  it.each([
    ['a sentence', 'It is broken', 'It is broken'],
    ['JSON in text', '{"error":{"message":"It is broken"}}', 'It is broken'],
    ['what only looks like JSON', '{"error":', '{"error":'],
    ['an error that is a sentence', { error: 'It is broken' }, 'It is broken'],
    ['a message', { message: 'It is broken' }, 'It is broken'],
    [
      'a message beside its title',
      { statusCode: 404, error: 'Bad', message: 'It is broken' },
      'It is broken',
    ],
    ['a detail', { detail: 'It is broken' }, 'It is broken'],
    ['a list', [{ error: { code: 400, message: 'It is broken' } }], 'It is broken'],
    ['errors', { errors: [{ message: 'It is broken' }] }, 'It is broken'],
    ['several lines', 'It\tis\r\n\r\n\u0000 broken\u009b', 'It is broken'],
    [
      'the title of a page',
      '<!DOCTYPE html><html><head><TITLE>It is\n broken</title><body>No',
      'It is broken',
    ],
    [
      'the words of a page',
      '<html><head><style>p { a: b }</style></head><body class="x"><h1>It &amp; that</h1><script>if (a < b) c()</script><p>is broken</body>',
      'It & that is broken',
    ],
    [
      'a page after an empty line',
      '\n <html><title></title><header>It</header> is broken',
      'It is broken',
    ],
    ['tags that are not closed', '<html><p>It is broken<script>no', 'It is broken'],
  ])('has the message of %s', (_, body, expected) => {
    expect(upstreamFailure(400, body).message).toBe(expected);
    const failed = { message: 'The provider failed', detail: `status 500: ${expected}` };
    expect(upstreamFailure(500, body)).toMatchObject(failed);
  });

  it("reads param and message of FastAPI's detail", () => {
    const detail = [
      { loc: ['body', 'messages', 0, 'content'], msg: 'field required', type: 'missing' },
      { loc: ['body', 'n'], msg: 'no integer', type: 'int' },
    ];
    const expected = { message: 'field required; no integer', param: 'messages[0].content' };
    expect(upstreamFailure(422, { detail })).toMatchObject(expected);
    expect(upstreamFailure(422, { object: 'error', message: { detail } })).toMatchObject(expected);
  });

  it.each(['', null, undefined, {}, [], { error: null }, { error: {} }, { message: '' }, 42, true])(
    'has a default message for the body %j',
    (body) => {
      const { message, detail } = upstreamFailure(502, body);
      expect({ message, detail }).toEqual({ message: 'The provider failed', detail: 'status 502' });
      expect(upstreamFailure(null, body).message).toBe('The provider failed');
    },
  );

  it('does not pass on the message of an authentication error', () => {
    const body = openai('invalid_request_error', 'invalid_api_key');
    expect(upstreamFailure(401, body).message).toBe(
      "The provider did not accept the gateway's credentials",
    );
  });

  it.each([
    [{ retryAfter: '7' }, 7],
    [{ retryAfter: '0.2' }, 1],
    [{ retryAfter: '0' }, 0],
    [{ retryAfter: 'Wed, 21 Oct 2015 07:28:00 GMT' }, 0],
    [{ retryAfter: '9'.repeat(400) }, 86_400],
    [{ retryAfterMs: '1500', retryAfter: '60' }, 2],
    [{ retryAfterMs: 'soon', retryAfter: '60' }, 60],
    [{ retryAfter: 'soon' }, null],
    [{ retryAfter: '' }, null],
    [{}, null],
  ])('reads Retry-After of the headers %j', (options, expected) => {
    const { retryAfter } = upstreamFailure(429, '', options);
    expect(retryAfter).toBe(expected);
  });

  it('reads Retry-After as the seconds until a date', () => {
    const retryAfter = new Date(Date.now() + 30_000).toUTCString();
    // A date has no milliseconds.
    expect([29, 30]).toContain(upstreamFailure(429, '', { retryAfter }).retryAfter);
  });
});

describe('redaction of a key', () => {
  const masked = `${SECRET.slice(0, 8)}****${SECRET.slice(-4)}`;

  it.each([
    [`Bad key ${SECRET}.`, 'Bad key [key].'],
    [`${SECRET}${SECRET} and ${SECRET}`, '[key] and [key]'],
    [`Bad key '${SECRET.slice(0, 20)}' of you`, "Bad key '[key]' of you"],
    [`Bad key (${SECRET.slice(-13)})`, 'Bad key ([key])'],
    [`Bad key: ${masked}. Find yours`, 'Bad key: [key] Find yours'],
    ['Bad key: sk-…wxyz', 'Bad key: [key]'],
    ['Bad key: sk-...wxyz', 'Bad key: [key]'],
    ['2 ** 3 … and so on...', '2 ** 3 … and so on...'],
  ])('removes the key from %s', (message, expected) => {
    const body = { error: { message, code: SECRET, param: SECRET } };
    expect(upstreamFailure(400, body, { apiKey: SECRET })).toMatchObject({
      message: expected,
      code: '[key]',
      param: '[key]',
    });
  });

  it('removes the key at any position', () => {
    fc.assert(
      fc.property(fc.string(), fc.nat(47), fc.nat(47), fc.string(), (before, one, other, after) => {
        const part = SECRET.slice(Math.min(one, other), Math.max(one, other));
        const { message } = upstreamFailure(500, `${before}${part}${after}`, { apiKey: SECRET });
        if (part.length > 12) expect(message).not.toContain(part);
      }),
    );
  });

  it('leaves short keys that are words', () => {
    const message = 'ollama has no such model';
    expect(upstreamFailure(400, { message }, { apiKey: 'ollama' }).message).toBe(message);
  });
});

describe('a hostile body', () => {
  it('of any JSON gives a Failure', () => {
    const keys = fc.constantFrom(
      ...['error', 'message', 'type', 'code', 'param', 'detail', 'loc', 'msg', 'status', 'errors'],
      ...['__proto__', 'constructor', 'toString', 'response'],
    );
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 6 },
        fc.jsonValue(),
        fc.constantFrom('__proto__', 'constructor', 'hasOwnProperty', '\ud800', '<html>'),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(keys, tie('value'), { maxKeys: 5, noNullPrototype: true }),
      ),
    }));
    const status = fc.option(fc.integer({ min: 100, max: 999 }));
    fc.assert(
      fc.property(status, value, (code, body) => {
        const failure = upstreamFailure(code, body, { apiKey: SECRET });
        expect(FAILURE_TYPES).toContain(failure.type);
        expect(failure.message).toMatch(/^[^\p{Cc}]{1,1000}$/u);
        expect(failure.status).toBeGreaterThanOrEqual(400);
        expect([true, false]).toContain(isRetriable(failure));
      }),
      { numRuns: runs(2_000) },
    );
  });

  it.each([
    ['words', 'word '.repeat(2_000_000)],
    ['one word', 'x'.repeat(10_000_000)],
    ['tags', `<html>${'<p>a</p>'.repeat(1_000_000)}`],
    ['open brackets', '<'.repeat(10_000_000)],
    ['open scripts', '<script>'.repeat(1_000_000)],
    ['closed scripts', `<html>${'<script></script>'.repeat(500_000)}`],
    ['brackets of JSON', '['.repeat(900_000)],
    ['parts of the key', SECRET.repeat(200_000)],
    ['stars', '*'.repeat(10_000_000)],
    ['characters of two halves', '😀'.repeat(2_000_000)],
  ])('of megabytes of %s gives a short message', (_, body) => {
    const { message } = upstreamFailure(400, body, { apiKey: SECRET });
    expect(message.length).toBeLessThanOrEqual(1000);
    expect(message).toBe(Buffer.from(message).toString());
  });

  it('of deeply nested lists gives a Failure', () => {
    let body: unknown = 'deep';
    for (let depth = 0; depth < 100_000; depth += 1) body = depth % 2 ? [body] : { error: body };
    expect(upstreamFailure(500, body).message).toBe('The provider failed');
  });
});

describe('isRetriable and canFailOver', () => {
  const both = [true, true];
  const elsewhere = [false, true];
  const nothing = [false, false];

  it.each([
    [upstreamFailure(429, ''), both],
    [upstreamFailure(408, ''), both],
    [upstreamFailure(504, ''), both],
    [upstreamFailure(409, ''), both],
    [upstreamFailure(500, ''), both],
    [upstreamFailure(529, ''), both],
    [upstreamFailure(null, ''), both],
    [upstreamFailure(401, ''), elsewhere],
    [upstreamFailure(402, ''), elsewhere],
    [upstreamFailure(404, ''), elsewhere],
    [upstreamFailure(302, ''), elsewhere],
    [upstreamFailure(418, ''), elsewhere],
    [upstreamFailure(400, ''), nothing],
    [upstreamFailure(400, openai(null, 'upstream_auth')), nothing],
    [upstreamFailure(413, ''), nothing],
    [upstreamFailure(400, openai(null, 'content_filter')), nothing],
    [upstreamFailure(502, openai('billable_error')), nothing],
    [new Failure('network_error', '', { code: 'unreachable' }), both],
    [new Failure('network_error', '', { code: 'connection_lost' }), both],
    [new Failure('network_error', '', { code: 'stream_truncated' }), both],
    [new Failure('network_error', '', { code: 'aborted' }), nothing],
    [new Failure('timeout', '', { code: 'connect_timeout' }), both],
    [new Failure('timeout', '', { code: 'first_byte_timeout' }), elsewhere],
    [new Failure('timeout', '', { code: 'total_timeout' }), nothing],
    [new Failure('unknown', ''), nothing],
  ])('for %o', (failure, expected) => {
    expect([isRetriable(failure), canFailOver(failure)]).toEqual(expected);
  });

  it('never retry a failure that cannot fail over', () => {
    for (const type of FAILURE_TYPES) {
      const failure = new Failure(type, '');
      expect(canFailOver(failure) || !isRetriable(failure)).toBe(true);
    }
  });
});
