import { forPixels } from '../images/estimate.ts';
import type { ImageInput, Sharp } from '../images/input.ts';
import { fromHex } from '../images/scene/colour.ts';
import { paint } from '../images/scene/paint.ts';
import { type Scene, sceneOf } from '../images/scene/scene.ts';
import type { OperationResult, ThreadOperation } from './operation.ts';

/** What the sandbox draws: a picture of its own, a change of the picture that came, or a film. */
export interface RenderOptions {
  readonly prompt: string;
  readonly seed: number | null;
  /** Which of several pictures of the prompt. */
  readonly number: number;
  readonly width: number;
  readonly height: number;
  /** `#rrggbb`: what the pictures that it is to look like are made of. */
  readonly colours: readonly string[];
  /** That the input is to be changed: where the mask is transparent, everywhere without one. */
  readonly edit?: { readonly mask: Uint8Array | null };
  readonly film?: { readonly frames: number; readonly milliseconds: number };
}

/** Draws the sandbox's pictures. The same options give the same bytes. */
export const render: ThreadOperation<RenderOptions> = {
  name: 'render',
  run(input, options) {
    const { prompt, seed, number, colours, width, height, film } = options;
    // Painted samples, the same as a PNG and, for an edit, the input and the mask.
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
  const pixels = edit ? await changed(input, painted, { width, height, ...edit }) : painted;
  const image = input.sharp(pixels, {
    limitInputPixels: false,
    raw: { width, height, channels: 4 },
  });
  // Only an edit can have kept something that is transparent.
  const opaque = edit ? image : image.removeAlpha();
  const bytes = await opaque.png().toBuffer();
  return { image: { bytes, format: 'png', width, height } };
}

/** How much of the input is left where it is changed. */
const LEFT = 0.55;

/** Lays what was painted over the input. */
async function changed(
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
    const share = (1 - LEFT) * (kept ? 1 - kept[at + 3]! / 255 : 1);
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
