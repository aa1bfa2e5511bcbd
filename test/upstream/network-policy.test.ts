import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Purpose } from '../../src/upstream/network-policy.ts';
import { networkPolicy } from './policies.ts';

describe('ports of a network policy', () => {
  const policy = networkPolicy({ callbackPorts: [443, '1024-65535'] });

  it.each([
    ['input', [80, 443], [1, 22, 79, 81, 8080, 8443, 65_535]],
    ['callback', [443, 1024, 8443, 65_535], [22, 80, 1023]],
    ['result', [1, 80, 9000, 65_535], [0]],
  ] as const)('allow the configured ports for an %s', (purpose: Purpose, open, closed) => {
    for (const port of open) expect([port, policy.hasPort(port, purpose)]).toEqual([port, true]);
    for (const port of closed) expect([port, policy.hasPort(port, purpose)]).toEqual([port, false]);
  });

  it('are all allowed where private addresses are', () => {
    expect(networkPolicy({ allowPrivateAddresses: true }).hasPort(9000, 'input')).toBe(true);
  });
});

describe('the deny list of a network policy', () => {
  const policy = networkPolicy({
    allowPrivateAddresses: true,
    allow: ['8.8.8.8', 'bad.example'],
    deny: ['8.8.8.0/24', '2606:4700::/32', 'bad.example', 'bücher.example', '10.0.0.1'],
  });

  it.each([
    '8.8.8.8',
    '8.8.8.255',
    '[::ffff:8.8.8.8]',
    '[64:ff9b::808:808]',
    '[2002:808:808::1]',
    '[2a00:1450:4001::200:5efe:808:808]',
    '[2606:4700::1111]',
    '10.0.0.1',
    'bad.example',
    'bad.example.',
    'a.b.bad.example',
    'xn--bcher-kva.example',
  ])('denies %s although everything is allowed', (host) => {
    expect(policy.refusalOfHost(host)).toBe('denied');
  });

  it.each(['8.8.7.255', '[2606:4701::1]', 'notbad.example', 'example', '10.0.0.2'])(
    'is nothing else: %s',
    (host) => {
      expect(policy.refusalOfHost(host)).toBe(null);
    },
  );

  it('denies a listed address of any name, and all addresses of a listed name', () => {
    expect(policy.refusalOfAddress('8.8.8.8', 'good.example')).toBe('denied');
    expect(policy.refusalOfAddress('9.9.9.9', 'a.bad.example')).toBe('denied');
    expect(policy.refusalOfAddress('9.9.9.9', 'good.example')).toBe(null);
  });
});

describe('the allow list of a network policy', () => {
  const policy = networkPolicy({
    allow: ['10.1.0.0/16', 'fd12::/16', 'media.internal', 'localhost'],
  });

  it.each(['10.1.2.3', '[::ffff:10.1.2.3]', '[fd12::1]', 'media.internal', 'localhost'])(
    'allows %s',
    (host) => {
      expect(policy.refusalOfHost(host)).toBe(null);
    },
  );

  it.each([
    '10.2.0.1',
    '192.168.0.1',
    '[fd13::1]',
    'a.localhost.',
    '127.0.0.1',
    // A translator or a tunnel may lead to another network's address of that number.
    '[64:ff9b::a01:203]',
    '[2002:a01:203::1]',
  ])('is nothing else: %s', (host) => {
    const isBelow = host === 'a.localhost.';
    expect(policy.refusalOfHost(host)).toBe(isBelow ? null : 'private');
  });

  it('allows all private addresses of a listed name only', () => {
    expect(policy.refusalOfAddress('192.168.0.1', 'a.media.internal')).toBe(null);
    expect(policy.refusalOfAddress('192.168.0.1', 'other.internal')).toBe('private');
    expect(policy.refusalOfAddress('10.1.0.1', 'other.internal')).toBe(null);
  });
});

describe('cloud metadata addresses', () => {
  const METADATA = [
    '169.254.169.254',
    '169.254.170.2',
    '168.63.129.16',
    '100.100.100.200',
    '192.0.0.192',
    'fd00:ec2::254',
    'fd20:ce::254',
    'fe80::a9fe:a9fe',
  ];
  const settings = {
    allowPrivateAddresses: true,
    allow: ['0.0.0.0/0', '::/0', '169.254.0.0/16', 'metadata.google.internal'],
  };

  it.each(METADATA)('are refused although a range or name around %s is allowed', (address) => {
    const policy = networkPolicy(settings);
    const host = address.includes(':') ? `[${address}]` : address;
    expect(policy.refusalOfHost(host)).toBe('private');
    expect(policy.refusalOfAddress(address, 'metadata.google.internal')).toBe('private');
    if (address.includes(':')) return;
    for (const spelled of [`::ffff:${address}`, `64:ff9b::${address}`]) {
      expect(policy.refusalOfAddress(spelled, 'name.example')).toBe('private');
    }
  });

  it.each(METADATA)('are allowed where the list has the exact address %s', (address) => {
    const whole = address.includes(':') ? 128 : 32;
    for (const allow of [address, `${address}/${whole}`]) {
      const policy = networkPolicy({ allow: [allow] });
      expect(policy.refusalOfAddress(address, 'name.example')).toBe(null);
      expect(policy.refusalOfAddress('169.254.1.1', 'name.example')).toBe('private');
    }
  });
});

it('refuses exactly the addresses within a denied range', () => {
  const address = fc.integer({ min: 0, max: 2 ** 32 - 1 });
  const dotted = (number: number) =>
    [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.');
  fc.assert(
    fc.property(address, fc.integer({ min: 0, max: 32 }), address, (base, bits, other) => {
      const policy = networkPolicy({ deny: [`${dotted(base)}/${bits}`] });
      const size = 2 ** (32 - bits);
      const isWithin = Math.floor(base / size) === Math.floor(other / size);
      expect(policy.refusalOfHost(dotted(other)) === 'denied').toBe(isWithin);
    }),
  );
});
