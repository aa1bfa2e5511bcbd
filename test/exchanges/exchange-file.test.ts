import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../../src/exchanges/canonical-json.ts';
import type { Exchange } from '../../src/exchanges/exchange.ts';
import { decodeExchange, encodeExchange } from '../../src/exchanges/exchange-file.ts';
import { maskOf, maskText } from '../../src/exchanges/secrets.ts';

const mask = maskOf(['the key of a provider']);

function exchangeOf(chunks: readonly Buffer[], body: unknown = { model: 'gpt' }): Exchange {
  return {
    request: {
      model: 'gpt',
      method: 'POST',
      path: '/chat/completions',
      headers: {},
      body: canonicalJson(body, mask),
    },
    answer: {
      status: 200,
      headers: { 'content-type': 'text/event-stream' },
      chunks,
      times: [1, ...chunks.map((_, index) => index)],
      end: 'complete',
    },
  };
}

function copyOf(exchange: Exchange): Exchange {
  const { text, blobs } = encodeExchange(exchange);
  return decodeExchange(text, 'one.json', (name) => blobs.get(name)!);
}

const bodies = fc.oneof(
  fc.uint8Array({ minLength: 1 }).map((bytes) => Buffer.from(bytes)),
  fc.string({ unit: 'grapheme', minLength: 1 }).map((text) => Buffer.from(text)),
  fc
    .tuple(fc.json(), fc.constantFrom(0, 2))
    .map(([json, indent]) => Buffer.from(JSON.stringify(JSON.parse(json), null, indent))),
  fc.constant(Buffer.from(JSON.stringify({ b64: Buffer.alloc(3000, 7).toString('base64') }))),
  fc.constant(Buffer.from('{"$lines":["a"],"a":{"$base64":"x"},"b":"1\\n2"}')),
);

describe('the file of an exchange', () => {
  it('gives back every byte and every boundary of chunks', () => {
    fc.assert(
      fc.property(bodies, fc.array(fc.nat(), { maxLength: 5 }), fc.json(), (body, cuts, json) => {
        const at = [...new Set(cuts.map((cut) => cut % body.length))]
          .filter((cut) => cut > 0)
          .sort((a, b) => a - b);
        const starts = [0, ...at];
        const chunks = starts.map((start, index) => body.subarray(start, starts[index + 1]));
        const exchange = exchangeOf(chunks, JSON.parse(json));
        expect(copyOf(exchange)).toEqual(exchange);
      }),
    );
  });

  it('has a line for each line of a text, and no base64', () => {
    const image = Buffer.alloc(3000, 7);
    const answer = Buffer.from(JSON.stringify({ text: 'one\ntwo', b64: image.toString('base64') }));
    const { text, blobs } = encodeExchange(exchangeOf([answer], { prompt: 'three\nfour' }));
    for (const line of ['one', 'two', 'three', 'four']) {
      expect(text.split('\n').map((one) => one.trim().replace(',', ''))).toContain(`"${line}"`);
    }
    expect([...blobs.values()]).toEqual([image]);
    expect(text.length).toBeLessThan(1000);
  });

  const { text } = encodeExchange(exchangeOf([Buffer.from('data: 1\n\n')]));
  it.each([
    [
      'text that is cut off',
      text.slice(0, 200),
      /^one\.json:\d+: expected JSON; the file may be cut/,
    ],
    ['another file', '{\n  "a": 1\n}', /^one\.json:1: expected a recording of Oriel/],
    [
      'a newer version',
      text.replace('exchange/1', 'exchange/2'),
      /^one\.json:2: .*exchange\/2 of a newer version/,
    ],
    ['no end', text.replace(/,\n\s*"end": "complete"/, ''), /^one\.json:\d+: response\.end: /],
    ['a body that was cut', text.replace('"data: 1"', '"data"'), /^one\.json:\d+: the chunks have/],
  ])('refuses %s with its line', (_, changed, message) => {
    expect(changed).not.toBe(text);
    expect(() => decodeExchange(changed, 'one.json', () => Buffer.alloc(0))).toThrow(message);
  });
});

describe('the canonical form of a request', () => {
  const canonical = (value: unknown) => JSON.stringify(canonicalJson(value, mask));
  it.each([
    ['the order of names', { a: 1, b: { c: 2, d: 3 } }, { b: { d: 3, c: 2 }, a: 1 }],
    ['identifiers made here', { id: `call_${'a'.repeat(20)}` }, { id: `call_${'b'.repeat(20)}` }],
    ['who asks', { a: 1, prompt_cache_key: 'x', user: 'y' }, { a: 1, user: 'z' }],
    ['marks for a prompt cache', { a: {}, cache_control: { type: 'ephemeral' } }, { a: {} }],
    ['secrets', { a: 'the key of a provider' }, { a: '*********************' }],
  ])('does not depend on %s', (_, one, other) => {
    expect(canonical(one)).toBe(canonical(other));
  });

  it.each([
    ['the order of a list', [1, 2], [2, 1]],
    [
      'which identifier is meant',
      [`call_${'a'.repeat(20)}`, `call_${'b'.repeat(20)}`, `call_${'a'.repeat(20)}`],
      [`call_${'a'.repeat(20)}`, `call_${'b'.repeat(20)}`, `call_${'b'.repeat(20)}`],
    ],
    ['a file', { a: 'A'.repeat(1024) }, { a: 'B'.repeat(1024) }],
    ['other members of that name', { cache_control: { a: 1 } }, { cache_control: { a: 2 } }],
    ['names deep inside', { a: { user: 1 } }, { a: { user: 2 } }],
  ])('depends on %s', (_, one, other) => {
    expect(canonical(one)).not.toBe(canonical(other));
  });
});

describe('the mask of secrets', () => {
  it.each([
    ['API_KEY=sk-proj-abcdefghijklmnop1234', 'API_KEY=sk-'],
    ['\\nsk-ant-api03-abcdefghijklmnop1234', '\\nsk-'],
    ['AIzaSyA1234567890abcdefghijklmnopqrstuv', 'AIza'],
    ['AKIAIOSFODNN7EXAMPLE', 'AKIA'],
    ['Bearer abcdef.ghijkl-mnop', 'Bearer '],
    ['basic dXNlcjpwYXNz', 'basic '],
    ['https://host/?X-Amz-Signature=abcdef', 'https://host/?X-Amz-Signature='],
    ['https://user:password@host', 'https://'],
    ['org-abcdefghijklmnopqrstuvw1', 'org-'],
    ['sk_live_abcdefghijklmnop1234', 'sk_'],
    ['the key of a provider', ''],
  ])('hides %s and keeps its length', (secret, prefix) => {
    const masked = mask(`before "${secret}" after`);
    expect(masked).toHaveLength(`before "${secret}" after`.length);
    expect(masked).toContain(`"${prefix}*`);
    expect(masked).not.toContain(secret);
    expect(mask(masked)).toBe(masked);
  });

  it('ends for escapes that each hide another one', () => {
    const text = `${'\\u005c'}${'u005c'.repeat(100_000)} sk-abcdefghijklmnop1234`;
    const masked = maskText(text, mask);
    expect([masked.length, masked.slice(-5)]).toEqual([text.length, '*****']);
  });

  it('leaves base64 and words as they are', () => {
    const text = `${Buffer.from('AKIA').toString('base64')} task-management-of-everything desk-and-chair-in-the-room a basic understanding. Bearer authentication, user-authentication`;
    expect(mask(text)).toBe(text);
  });
});
