import type { Facts } from '../../images/decoding/header.ts';
import { upright } from '../../images/decoding/picture.ts';
import { readSamples } from '../../images/decoding/pixels.ts';
import { forPixels } from '../../images/input.ts';
import { attachGainMap, readGainMap } from '../../images/jpeg/gain-map.ts';
import { hasGainMap } from '../../images/jpeg/pictures.ts';
import type { EncodingResult } from '../../images/output.ts';
import { beginProgress, type MapProgress, openPixels, type Progress } from './progress.ts';
import type { Source } from './step.ts';

/** The gain map of an input, upright; undefined where the input has none that can be kept. */
export async function openGainMap(
  { input, header }: Source,
  { width, height, frames }: Facts,
): Promise<MapProgress | undefined> {
  const map = header.format === 'jpeg' && frames === 1 ? readGainMap(input.file) : null;
  if (!map) return undefined;
  input.admit(forPixels(width * height, 8, 0.05));
  const { metadata } = header;
  const size = { width: metadata.width, height: metadata.height };
  try {
    const stored = input.sharp(map.picture, { limitInputPixels: input.limits.pixels });
    const scale = (await stored.metadata()).width / size.width;
    const whole = upright(header)(stored.resize({ ...size, fit: 'fill' }));
    const pixels = await readSamples(whole);
    const grey = pixels.channels < 3;
    const facts = { width, height, frames, grey, hasAlpha: false, deep: false, moved: false };
    return { map, scale, progress: beginProgress(openPixels(input, pixels), facts) };
  } catch {
    // A damaged map does not make the picture unusable.
    return undefined;
  }
}

/** A function that adds the gain map to an output, or a warning where it is lost; with the bytes that it adds. */
export async function gainMapFor({ input, header }: Source, { gainMap }: Progress, holds: boolean) {
  const isLost = header.format === 'jpeg' && hasGainMap(input.file);
  if (!gainMap || !holds) {
    const message = 'the gain map, which holds the high dynamic range, was left out';
    const lost = isLost ? [{ code: 'trailer_lost', message } as const] : [];
    const warn = (result: EncodingResult) => ({
      ...result,
      warnings: [...result.warnings, ...lost],
    });
    return Object.assign(warn, { bytes: 0 });
  }
  const { map, scale, progress } = gainMap;
  const { image, facts, unchanged, place } = progress;
  const side = (length: number) => Math.max(1, Math.round(length * scale));
  const isSame = unchanged && place === -1 && !header.oriented;
  const size = { width: side(facts.width), height: side(facts.height) };
  const reduced = openPixels(input, await readSamples(image)).resize({ ...size, fit: 'fill' });
  const inGrey = facts.grey ? reduced.toColourspace('b-w') : reduced;
  const picture = isSame ? map.picture : await inGrey.jpeg({ quality: 90 }).toBuffer();
  const attach = (result: EncodingResult): EncodingResult => {
    const bytes = attachGainMap(result.image.bytes, map, picture);
    return { ...result, image: { ...result.image, bytes } };
  };
  return Object.assign(attach, { bytes: picture.length + 2000 });
}
