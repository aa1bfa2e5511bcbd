import { forPixels, type ImageInput, type Sharp } from '../../images/input.ts';
import type { OperationResult, ThreadOperation } from '../definition/operation.ts';
import { paint } from './paint.ts';
import { fromHex, type Scene, sceneOf } from './scene.ts';

/** An image of the sandbox: a new one, an edit of the input, or an animation. */
export interface RenderOptions {
  readonly prompt: string;
  readonly seed: number | null;
  /** Index among the images of the prompt. */
  readonly number: number;
  readonly width: number;
  readonly height: number;
  /** Colours of the reference images, as `#rrggbb`. */
  readonly colours: readonly string[];
  /** Edits the input where the mask is transparent, or everywhere without a mask. */
  readonly edit?: { readonly mask: Uint8Array | null };
  readonly film?: { readonly frames: number; readonly milliseconds: number };
}

/** Draws an image of the sandbox. Equal options give equal bytes. */
export const render: ThreadOperation<RenderOptions> = {
  name: 'render',
  run(input, options) {
    const { prompt, seed, number, colours, width, height, film } = options;
    // Samples, their PNG and, for an edit, the samples of input and mask.
    input.admit(forPixels(width * height * (film?.frames ?? 1), options.edit ? 30 : 16, 0.3));
    const scene = sceneOf(prompt, seed, number, colours.map(fromHex));
    if (film) return renderFilm(input, scene, options, film);
    return renderStill(input, scene, options);
  },
};

async function renderStill(
  input: ImageInput,
  scene: Scene,
  { width, height, edit }: RenderOptions,
): Promise<OperationResult> {
  const painted = paint(scene, { width, height });
  const pixels = edit ? await blendOverInput(input, painted, { width, height, ...edit }) : painted;
  const image = input.sharp(pixels, {
    limitInputPixels: false,
    raw: { width, height, channels: 4 },
  });
  // Only an edit can contain transparent pixels, those of the input.
  const opaque = edit ? image : image.removeAlpha();
  const bytes = await opaque.png().toBuffer();
  return { image: { bytes, format: 'png', width, height } };
}

/** Share of the input in edited pixels. */
const INPUT_SHARE = 0.55;

/** Blends the painted image over the input. */
async function blendOverInput(
  { bytes, limits, sharp }: ImageInput,
  painted: Uint8Array,
  {
    width,
    height,
    mask,
  }: { readonly width: number; readonly height: number; readonly mask: Uint8Array | null },
): Promise<Uint8Array> {
  const fitted = (source: Uint8Array): Sharp =>
    sharp(source, { limitInputPixels: limits.pixels })
      .autoOrient()
      .resize({ width, height, fit: 'cover' })
      .toColourspace('srgb')
      .ensureAlpha();
  const pixels = await fitted(bytes).raw().toBuffer();
  const kept = mask && (await fitted(mask).raw().toBuffer());
  for (let at = 0; at < pixels.length; at += 4) {
    const share = (1 - INPUT_SHARE) * (kept ? 1 - kept[at + 3]! / 255 : 1);
    for (let channel = at; channel < at + 4; channel += 1) {
      pixels[channel]! += Math.round((painted[channel]! - pixels[channel]!) * share);
    }
  }
  return pixels;
}

async function renderFilm(
  { sharp }: ImageInput,
  scene: Scene,
  { width, height }: RenderOptions,
  { frames, milliseconds }: { readonly frames: number; readonly milliseconds: number },
): Promise<OperationResult> {
  const length = width * height * 4;
  const pixels = new Uint8Array(length * frames);
  for (let frame = 0; frame < frames; frame += 1) {
    pixels.set(paint(scene, { width, height }, frame / frames), frame * length);
  }
  const raw = { width, height: height * frames, channels: 4, pageHeight: height } as const;
  const delay = Array.from({ length: frames }, () => Math.round(milliseconds / frames));
  const bytes = await sharp(pixels, { limitInputPixels: false, raw })
    .removeAlpha()
    .webp({ quality: 75, effort: 0, loop: 0, delay })
    .toBuffer();
  return { image: { bytes, format: 'webp', width, height, pages: frames } };
}
