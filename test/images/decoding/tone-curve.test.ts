import { describe, expect, test } from 'vitest';
import { toneCurveOf, toSrgbTable } from '../../../src/images/decoding/tone-curve.ts';
import { greyProfile } from '../../fixtures/profile.ts';

/** A greyscale profile whose curve is replaced. */
function withCurve(curve: Buffer): Buffer {
  const profile = greyProfile(1);
  const entry = profile.indexOf('kTRC');
  profile.writeUInt32BE(profile.length, entry + 4);
  profile.writeUInt32BE(curve.length, entry + 8);
  return Buffer.concat([profile, curve]);
}

function parametric(type: number, ...values: number[]): Buffer {
  const data = Buffer.alloc(12 + values.length * 4);
  data.write('para', 0, 'latin1');
  data.writeUInt16BE(type, 8);
  for (const [at, value] of values.entries())
    data.writeInt32BE(Math.round(value * 65_536), 12 + at * 4);
  return data;
}

function sampled(...values: number[]): Buffer {
  const data = Buffer.alloc(12 + values.length * 2);
  data.write('curv', 0, 'latin1');
  data.writeUInt32BE(values.length, 8);
  for (const [at, value] of values.entries()) data.writeUInt16BE(value, 12 + at * 2);
  return data;
}

const SRGB = [2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045];

describe('the curve of a greyscale profile', () => {
  test.each([
    ['a power', greyProfile(2), 0.5, 0.25],
    ['no points', withCurve(sampled()), 0.3, 0.3],
    ['points', withCurve(sampled(0, 0x8000, 0xffff)), 0.25, 0.25],
    ['uneven points', withCurve(sampled(0, 0, 0xffff)), 0.75, 0.5],
    ['a parametric power', withCurve(parametric(0, 3)), 0.5, 0.125],
    ['a power from an offset', withCurve(parametric(1, 2, 2, -1)), 0.75, 0.25],
    ['a power below its offset', withCurve(parametric(1, 2, 2, -1)), 0.25, 0],
    ['a raised power', withCurve(parametric(2, 2, 1, 0, 0.5)), 0.5, 0.75],
    ["sRGB's linear part", withCurve(parametric(3, ...SRGB)), 0.02, 0.02 / 12.92],
    ['all parameters', withCurve(parametric(4, 2, 1, 0, 0.5, 0.5, 0.1, 0.2)), 0.2, 0.3],
  ])('by %s', (_, profile, sample, light) => {
    expect(toneCurveOf(profile)!(sample)).toBeCloseTo(light, 3);
  });

  test('of sRGB changes nothing', () => {
    const table = toSrgbTable(toneCurveOf(withCurve(parametric(3, ...SRGB)))!);
    expect(table.every((value, sample) => Math.abs(value - sample) <= 8)).toBe(true);
    expect([table[0], table[65_535]]).toEqual([0, 65_535]);
  });

  test('is null for damaged profiles, other kinds and unknown functions', () => {
    const whole = greyProfile(1);
    const colour = Buffer.from(whole);
    colour.write('RGB ', 16, 'latin1');
    const lut = Buffer.from(whole);
    lut.write('A2B0', lut.indexOf('desc'), 'latin1');
    const found = [
      ...[colour, lut, withCurve(parametric(9, 1)), Buffer.alloc(0)],
      ...[whole.subarray(0, 140), withCurve(sampled(0, 1, 2).subarray(0, -1))],
    ].map((profile) => toneCurveOf(profile));
    expect(found).toEqual(found.map(() => null));
  });
});
