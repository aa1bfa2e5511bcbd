import { isIP } from 'node:net';
import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { Failure } from '../../src/failure.ts';
import { isPublicAddress } from '../../src/upstream/network-policy.ts';
import { checkPublicUrl } from '../../src/upstream/public-url.ts';
import { ANYWHERE, PUBLIC } from './policies.ts';

/** Everything in IPv4 that is not for everybody: IANA's special-purpose registry, multicast, class E. */
const SPECIAL = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '168.63.129.16/32'],
  ...['169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24', '192.0.2.0/24'],
  ...['192.31.196.0/24', '192.52.193.0/24', '192.88.99.0/24', '192.168.0.0/16'],
  ...['192.175.48.0/24', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4'],
].map((range) => {
  const [start = '', bits] = range.split('/');
  const size = 2 ** (32 - Number(bits));
  return { first: numberOf(start), size };
});

function numberOf(address: string): number {
  return address.split('.').reduce((number, part) => number * 256 + Number(part), 0);
}

function partsOf(number: number): number[] {
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256);
}

const dotted = (number: number): string => partsOf(number).join('.');

function groups(number: number): string {
  const [a, b, c, d] = partsOf(number) as [number, number, number, number];
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}

/** Ways to write an IPv4 address as a URL's host that lead to it, or to a translator that does. */
const SPELLINGS: readonly ((number: number) => string)[] = [
  dotted,
  (number) => `${dotted(number)}.`,
  (number) => String(number),
  (number) => `0x${number.toString(16)}`,
  (number) => `0${number.toString(8)}`,
  (number) =>
    partsOf(number)
      .map((part) => `0${part.toString(8)}`)
      .join('.'),
  (number) => {
    const [first = 0] = partsOf(number);
    return `${first}.${number % 2 ** 24}`;
  },
  (number) => `[::ffff:${dotted(number)}]`,
  (number) => `[0:0:0:0:0:FFFF:${groups(number)}]`,
  (number) => `[64:ff9b::${groups(number)}]`,
  (number) => `[2002:${groups(number)}::1]`,
  (number) => `[2000::5efe:${groups(number)}]`,
  (number) => `[2a00:1450:4001::200:5efe:${groups(number)}]`,
];

const special = fc
  .constantFrom(...SPECIAL)
  .chain(({ first, size }) =>
    fc.oneof(
      fc.constantFrom(first, first + size - 1),
      fc.integer({ min: first, max: first + size - 1 }),
    ),
  );

function isSpecial(number: number): boolean {
  return SPECIAL.some(({ first, size }) => number >= first && number < first + size);
}

const common = fc
  .oneof(
    fc.integer({ min: 0, max: 2 ** 32 - 1 }),
    fc.constantFrom(...SPECIAL.flatMap(({ first, size }) => [first - 1, first + size])),
  )
  .filter((number) => number >= 0 && number < 2 ** 32 && !isSpecial(number));

function check(host: string): () => URL {
  return () => checkPublicUrl(`http://${host}/`, 'callback_url', PUBLIC, 'callback');
}

const REFUSED = expect.objectContaining({
  type: 'invalid_request',
  status: 400,
  code: 'private_address',
  param: 'callback_url',
});

describe('a non-public address', () => {
  test('is refused in every notation', () => {
    fc.assert(
      fc.property(special, fc.constantFrom(...SPELLINGS), (number, spelling) => {
        expect(check(spelling(number))).toThrow(REFUSED);
        expect(isPublicAddress(dotted(number))).toBe(false);
      }),
    );
  });

  it.each([
    ...['localhost', 'LOCALHOST.', 'a.localhost', '①②⑦.0.0.1', '[::]', '[::1]'],
    ...['[::127.0.0.1]', '[::8.8.8.8]', '[fe80::1]', '[fc00::1]', '[fec0::1]', '[ff02::1]'],
    ...['[100::1]', '[64:ff9b:1::808:808]', '[::ffff:0:8.8.8.8]', '[2001::1]'],
    ...['[2001:0:4136:e378:8000:63bf:f7f7:f7f7]', '[2001:2::1]', '[2001:10::1]'],
    ...['[2001:20::1]', '[2620:4f:8000::1]', '[64:ff9b:1::1]', '127.0.0.1..', '127。0。0。1'],
    ...['[2001:db8::1]', '[3fff::1]', '[5f00::1]', '[4000::1]'],
  ])('is refused: %s', (host) => {
    expect(check(host)).toThrow(REFUSED);
  });

  it.each(['localhost', '127.0.0.1', '[::1]', '10.0.0.1'])(
    'is allowed where the policy allows private addresses: %s',
    (host) => {
      expect(checkPublicUrl(`http://${host}:8080/a?b`, 'x', ANYWHERE, 'input').href).toBe(
        `http://${host}:8080/a?b`,
      );
    },
  );

  it.each(['', 'a', '::ffff', '1.2.3', '1.2.3.4.5', '8.8.8.8%lo'])(
    'isPublicAddress rejects the invalid address %j',
    (text) => {
      expect(isPublicAddress(text)).toBe(false);
    },
  );
});

describe('a public address', () => {
  test('is allowed in every notation', () => {
    fc.assert(
      fc.property(common, fc.constantFrom(...SPELLINGS), (number, spelling) => {
        expect(check(spelling(number))).not.toThrow();
        expect(isIP(dotted(number))).toBe(4);
        expect(isPublicAddress(dotted(number))).toBe(true);
      }),
    );
  });

  it.each([
    'example.com',
    'localhost.example.com',
    'notlocalhost',
    '[2606:4700::1111]',
    '[2a00:1450:4001::200e]',
    '[64:ff9b::808:808]',
    'bücher.example',
  ])('is allowed: %s', (host) => {
    expect(check(host)).not.toThrow();
  });
});

describe('an invalid URL', () => {
  it.each([
    ['', 'expected an http or https URL, received ""'],
    ['/path', 'expected an http or https URL, received "/path"'],
    ['example.com', 'expected an http or https URL, received "example.com"'],
    ['file:///etc/passwd', 'expected an http or https URL, received "file:///etc/passwd"'],
    [
      'ftp://a:secret@example.com',
      'expected an http or https URL, received "ftp://***@example.com"',
    ],
    ['http://', 'expected an http or https URL, received "http://"'],
    ['http://1.2.3.4.5/', 'expected an http or https URL, received "http://1.2.3.4.5/"'],
    [
      'https://a:secret@example.com/',
      'expected a URL without credentials: they would be kept with the request',
    ],
    [
      'https://a@example.com/',
      'expected a URL without credentials: they would be kept with the request',
    ],
    [
      `https://example.com/${'a'.repeat(8000)}`,
      'expected a URL of at most 8000 characters, received 8020',
    ],
  ])('is refused: %.40s', (text, message) => {
    expect(() => checkPublicUrl(text, 'input_images[2]', ANYWHERE, 'input')).toThrow(
      expect.objectContaining({
        type: 'invalid_request',
        message: `input_images[2]: ${message}`,
        param: 'input_images[2]',
        code: null,
      }),
    );
  });

  test('throws only Failures for any text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary-ascii' }), fc.ipV6()), (text) => {
        for (const given of [text, `http://${text}`, `https://[${text}]:0`]) {
          try {
            checkPublicUrl(given, null, PUBLIC, 'input');
          } catch (error) {
            if (!(error instanceof Failure)) throw error;
          }
        }
      }),
    );
  });
});
