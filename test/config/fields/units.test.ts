import fc from 'fast-check';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import {
  credits,
  duration,
  parseDuration,
  parseSize,
  size,
} from '../../../src/config/fields/units.ts';

describe('parseDuration', () => {
  it.each([
    ['0s', 0],
    ['250ms', 250],
    ['30s', 30_000],
    ['1.5h', 5_400_000],
    ['1.1s', 1100],
    ['0.001s', 1],
    ['10m', 600_000],
    ['7d', 604_800_000],
    ['3650d', 315_360_000_000],
  ])('parses %s as %d ms', (text, milliseconds) => {
    expect(parseDuration(text)).toBe(milliseconds);
  });

  it.each([
    '',
    '30',
    's',
    '-1s',
    '+1s',
    '1 s',
    ' 1s',
    '1s ',
    '1S',
    '1M',
    '1sec',
    '1m30s',
    '1e3s',
    '.5s',
    '1.s',
    '0x1s',
    '∞d',
    '1.5ms',
    '0.0001s',
    '９s',
    '1s\n',
    '999999999999d',
  ])('rejects %j', (text) => {
    expect(parseDuration(text)).toBeNull();
  });

  it('returns exact whole milliseconds', () => {
    const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 1_000_000 }),
        fc.constantFrom(...(Object.keys(units) as (keyof typeof units)[])),
        (count, unit) => {
          expect(parseDuration(`${count}${unit}`)).toBe(count * units[unit]);
          expect(parseDuration(`${count}`)).toBeNull();
          // Thousandths of a second and above come out whole.
          const thousandths = `${Math.floor(count / 1000)}.${String(count % 1000).padStart(3, '0')}`;
          if (unit !== 'ms') {
            expect(parseDuration(`${thousandths}${unit}`)).toBe((count * units[unit]) / 1000);
          }
        },
      ),
    );
  });

  it('the schema accepts the bounds and rejects values beyond', () => {
    const schema = duration('1s', '1m');
    expect([schema, schema].map((one, index) => v.parse(one, ['1s', '1m'][index]))).toEqual([
      1000, 60_000,
    ]);
    for (const wrong of ['999ms', '1.01m', 30, null, undefined]) {
      expect(v.is(schema, wrong)).toBe(false);
    }
  });
});

describe('parseSize', () => {
  it.each([
    ['0B', 0],
    ['100B', 100],
    ['512KB', 512_000],
    ['1.5MB', 1_500_000],
    ['64MB', 64_000_000],
    ['2GB', 2_000_000_000],
    ['64MiB', 67_108_864],
    ['1000TB', 1_000_000_000_000_000],
  ])('parses %s as %d bytes', (text, bytes) => {
    expect(parseSize(text)).toBe(bytes);
  });

  it.each(['', '64', '64mb', '64M', '64Mib', '-1MB', '1 MB', '0.3B', '1e3MB', '9999999TB'])(
    'rejects %j',
    (text) => {
      expect(parseSize(text)).toBeNull();
    },
  );

  it('the schema accepts the bounds and rejects values beyond', () => {
    const schema = size('1KB', '1MB');
    expect(v.parse(schema, '1024B')).toBe(1024);
    expect(v.parse(schema, '1000KB')).toBe(1_000_000);
    for (const wrong of ['999B', '1.1MB', 2048]) expect(v.is(schema, wrong)).toBe(false);
  });
});

describe('credits', () => {
  it.each([
    [0, 0],
    [1.25, 1_250_000],
    [0.000001, 1],
    [0.1, 100_000],
    [1_000_000_000, 1e15],
  ])('parses %d as whole micro-credits', (amount, micro) => {
    expect(v.parse(credits(), amount)).toBe(micro);
  });

  it.each([-1, 0.0000001, 1_000_000_000.1, Number.NaN, Number.POSITIVE_INFINITY, '1', null])(
    'rejects %j',
    (amount) => {
      expect(v.is(credits(), amount)).toBe(false);
    },
  );
});
