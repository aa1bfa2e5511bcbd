import {
  type ColourSpace,
  iccProfile,
  type Primaries,
  profileOfCode,
  SRGB_PRIMARIES,
} from '../icc.ts';

/** Chunks of a PNG that define its colours, by name. */
export type ColourChunks = ReadonlyMap<string, Buffer>;

export const COLOUR_CHUNKS: readonly string[] = ['iCCP', 'cICP', 'sRGB', 'gAMA', 'cHRM'];

/** The value of gAMA for sRGB, in units of 1/100000 (PNG third edition, 11.3.2.1). */
const SRGB_GAMMA = 45_455;
/** Largest differences at which values count as sRGB's, because writers round them. */
const GAMMA_TOLERANCE = 0.05;
const CHROMATICITY_TOLERANCE = 0.005;

/**
 * An ICC profile for the colours that a PNG defines by the chunks cICP, gAMA and cHRM, which libvips 8.18
 * ignores; null if they are sRGB, or if iCCP or sRGB defines them.
 *
 * @param grey whether the samples are grey
 */
export function profileOfChunks(chunks: ColourChunks, grey: boolean): Buffer | null {
  if (chunks.has('iCCP')) return null;
  const coded = chunks.get('cICP');
  if (coded?.length === 4) {
    return profileOfCode({ primaries: coded[0]!, transfer: coded[1]! }, grey);
  }
  if (chunks.has('sRGB')) return null;
  const space = spaceOfGamma(chunks.get('gAMA'), chunks.get('cHRM'), grey);
  return space && iccProfile(grey ? { ...space, primaries: null } : space);
}

function spaceOfGamma(
  gammaChunk: Buffer | undefined,
  chromaticities: Buffer | undefined,
  grey: boolean,
): ColourSpace | null {
  const stored = gammaChunk?.length === 4 ? gammaChunk.readUInt32BE() : SRGB_GAMMA;
  const usual = Math.abs(stored / SRGB_GAMMA - 1) < GAMMA_TOLERANCE;
  const named = chromaticities?.length === 32 ? readPrimaries(chromaticities) : SRGB_PRIMARIES;
  const primaries = grey || isSrgb(named) ? SRGB_PRIMARIES : named;
  if (usual && primaries === SRGB_PRIMARIES) return null;
  // A gamma outside of this range is an error of the file.
  if (stored < 10_000 || stored > 1_000_000) return null;
  return { gamma: gammaChunk ? 100_000 / stored : 'srgb', primaries };
}

function readPrimaries(data: Buffer): Primaries {
  const colour = (index: number) => ({
    x: data.readUInt32BE(index * 8) / 100_000,
    y: data.readUInt32BE(index * 8 + 4) / 100_000,
  });
  return { white: colour(0), red: colour(1), green: colour(2), blue: colour(3) };
}

function isSrgb(primaries: Primaries): boolean {
  return (['white', 'red', 'green', 'blue'] as const).every((name) => {
    const [one, other] = [primaries[name], SRGB_PRIMARIES[name]];
    const distance = Math.max(Math.abs(one.x - other.x), Math.abs(one.y - other.y));
    return distance < CHROMATICITY_TOLERANCE;
  });
}
