/** Light, 0 to 1, of a sample of 0 to 1. */
export type ToneCurve = (sample: number) => number;

const TAGS = 128;
const MAX_TAGS = 100;

/**
 * The curve of a greyscale profile (ICC.1:2022, 9.2.33); null for profiles of other kinds and damaged ones. libvips 8.18
 * applies them to samples of eight bits alone.
 */
export function toneCurveOf(icc: Uint8Array): ToneCurve | null {
  const profile = Buffer.from(icc.buffer, icc.byteOffset, icc.byteLength);
  if (profile.toString('latin1', 16, 24) !== 'GRAYXYZ ') return null;
  try {
    const count = Math.min(MAX_TAGS, profile.readUInt32BE(TAGS));
    let curve: Buffer | undefined;
    for (let at = TAGS + 4; at < TAGS + 4 + count * 12; at += 12) {
      const name = profile.toString('latin1', at, at + 4);
      const start = profile.readUInt32BE(at + 4);
      if (name === 'kTRC') curve = profile.subarray(start, start + profile.readUInt32BE(at + 8));
      // A table, which takes precedence over the curve.
      if (name === 'A2B0') return null;
    }
    return curve ? readCurve(curve) : null;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** @throws RangeError for a curve that breaks off */
function readCurve(data: Buffer): ToneCurve | null {
  const type = data.toString('latin1', 0, 4);
  if (type === 'curv') return sampledCurve(data);
  return type === 'para' ? parametricCurve(data) : null;
}

/** A table, or a power (10.6). */
function sampledCurve(data: Buffer): ToneCurve {
  const count = data.readUInt32BE(8);
  if (count === 0) return (sample) => sample;
  if (count === 1) {
    const gamma = data.readUInt16BE(12) / 256;
    return (sample) => sample ** gamma;
  }
  const last = count - 1;
  data.readUInt16BE(12 + last * 2);
  const point = (index: number) => data.readUInt16BE(12 + index * 2) / 0xffff;
  return (sample) => {
    const low = Math.min(last - 1, Math.floor(sample * last));
    const share = sample * last - low;
    return point(low) * (1 - share) + point(low + 1) * share;
  };
}

/** Parameters of each type of function (10.18). */
const PARAMETERS = [1, 3, 4, 5, 7];

function parametricCurve(data: Buffer): ToneCurve | null {
  const type = data.readUInt16BE(8);
  const count = PARAMETERS[type];
  if (count === undefined) return null;
  const values = Array.from({ length: count }, (_, at) => data.readInt32BE(12 + at * 4) / 65_536);
  const [gamma = 1, a = 1, b = 0] = values;
  const power = (sample: number) => Math.max(0, a * sample + b) ** gamma;
  if (type === 0) return power;
  if (type < 3) {
    const offset = values[3] ?? 0;
    return (sample) => (a * sample + b >= 0 ? power(sample) : 0) + offset;
  }
  const [c = 0, d = 0, e = 0, f = 0] = values.slice(3);
  return (sample) => (sample >= d ? power(sample) + e : c * sample + f);
}

/** sRGB's sample of light, both 0 to 1 (IEC 61966-2-1). */
function encoded(light: number): number {
  return light <= 0.003_130_8 ? 12.92 * light : 1.055 * light ** (1 / 2.4) - 0.055;
}

/** Samples of sRGB for samples of a curve, both of sixteen bits. */
export function toSrgbTable(curve: ToneCurve): Uint16Array {
  return Uint16Array.from({ length: 65_536 }, (_, sample) => {
    const light = Math.min(1, Math.max(0, curve(sample / 0xffff)));
    return Math.round(encoded(light) * 0xffff);
  });
}
