import type { Facts, Size } from '../../images/decoding/header.ts';
import { type Pixels, read, start } from '../../images/decoding/pixels.ts';
import type { ImageInput, Sharp } from '../../images/input.ts';
import type { GainMap } from '../../images/jpeg/gain-map.ts';

/** An image between two steps: a pipeline, and what it has done. */
export interface Progress {
  readonly image: Sharp;
  readonly facts: Facts;
  /** Place of the last change of the pipeline in sharp's order; -1 where it has none. */
  readonly place: number;
  /** Whether the pipeline begins with the encoded input, not with raw pixels. */
  readonly decoded: boolean;
  /** Whether the pipeline changes colours. */
  readonly colours: boolean;
  /** Whether no step since the input has changed pixels. */
  readonly unchanged: boolean;
  /** The gain map of the input, after the same changes. */
  readonly gainMap?: MapProgress | undefined;
}

/** A gain map between two steps, enlarged to the size of the picture so that steps mean the same to both. */
export interface MapProgress {
  readonly map: GainMap;
  /** Its pixels for one of the picture, along a side. */
  readonly scale: number;
  readonly progress: Progress;
}

/** An opened input before the first step. */
export function beginProgress(image: Sharp, facts: Facts, gainMap?: MapProgress): Progress {
  return { image, facts, place: -1, decoded: true, colours: false, unchanged: true, gainMap };
}

/** A pipeline that begins with pixels, to which steps may add colour: they are grey after greyscale. */
export function openPixels(input: ImageInput, pixels: Pixels): Sharp {
  const image = start(input, pixels);
  return pixels.channels < 3 ? image.pipelineColourspace('srgb') : image;
}

/** Lets several steps continue from one state, at another size where one is given. */
export async function shareProgress(
  input: ImageInput,
  { image, facts, unchanged, gainMap }: Progress,
  size?: Size,
): Promise<() => Progress> {
  const pixels = await read(size ? image.resize({ ...size, fit: 'fill' }) : image, facts);
  const map = gainMap && (await shareProgress(input, gainMap.progress, size));
  return () => ({
    ...beginProgress(openPixels(input, pixels), { ...facts, ...size }),
    ...{ decoded: false, unchanged: unchanged && !size },
    gainMap: map && { ...gainMap, progress: map() },
  });
}
