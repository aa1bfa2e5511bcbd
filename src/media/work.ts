/**
 * What a task is to do, as its record keeps it: validated, sized, its inputs admitted. JSON: null
 * stands for what the client did not say.
 */
export type Work = ImageWork | VideoWork | AudioWork;

/** A reference image: at an address that is fetched when the work begins, or kept by us already. */
export type Reference = { readonly url: string } | { readonly asset: string };

interface Prompted {
  readonly prompt: string;
  /** Makes a result repeatable, as far as a provider can. */
  readonly seed: number | null;
  /** The client's name for its own user, passed on to providers that ask for one. */
  readonly user: string | null;
}

export const QUALITIES = ['auto', 'low', 'medium', 'high'] as const;
export type Quality = (typeof QUALITIES)[number];

export interface ImageWork extends Prompted {
  readonly type: 'image';
  /** Whether the inputs are to be changed, rather than looked at. */
  readonly edit: boolean;
  /** How many images: 1 to 10. */
  readonly n: number;
  /**
   * What to ask of the provider: `auto`, `WIDTHxHEIGHT`, or for models without native sizes whatever
   * word the client used; null where it used none.
   */
  readonly size: string | null;
  /** The model has native sizes: a result of another size than `size` is none. */
  readonly native: boolean;
  readonly quality: Quality | null;
  /** At most 16. */
  readonly inputs: readonly Reference[];
  /** Where the first input is to be changed: a PNG of its size with alpha. */
  readonly mask: Reference | null;
}

export interface VideoWork extends Prompted {
  readonly type: 'video';
  /** `1280x720` or a ratio; null where the client said nothing. */
  readonly size: string | null;
  /** Seconds. */
  readonly duration: number;
  readonly inputs: readonly Reference[];
}

export interface AudioWork extends Prompted {
  readonly type: 'audio';
  readonly voice: string | null;
  /** `mp3`, `wav`, `opus`, `aac`, `flac`, `pcm`. */
  readonly format: string | null;
  /** Seconds. */
  readonly duration: number | null;
}
