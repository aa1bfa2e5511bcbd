import type { Mask } from './mask.ts';

export const KINDS = ['image', 'video', 'audio'] as const;
export type Kind = (typeof KINDS)[number];

/** An image on the server that a request starts from. */
export interface Input {
  /** As the server states it. */
  readonly url: string;
  readonly name: string;
}

/** What the user has chosen for one kind of media, and not necessarily sent. */
export interface Draft {
  /** Texts of the fields by their names in the API; missing or empty where the model chooses. */
  readonly values: Readonly<Record<string, string>>;
  readonly inputs: readonly Input[];
  /** Whether images are changed, or followed by a new image. */
  readonly use: 'edit' | 'reference';
  /** Drawn here, or of an earlier task at an address. */
  readonly mask: Mask | string | null;
}

export const EMPTY_DRAFT: Draft = { values: {}, inputs: [], use: 'edit', mask: null };

/** Inputs of one request (`input_images` of the API). */
export const MAX_INPUTS = 16;

/**
 * The draft that a request of a task came from.
 *
 * @param request of the task's timeline
 */
export function draftOf(request: Readonly<Record<string, unknown>>, model: string): Draft {
  const { edit, input_images: images, mask, ...fields } = request;
  const values: Record<string, string> = { model };
  for (const [name, value] of Object.entries(fields)) {
    // What the model chooses is an empty field.
    if (value === 'auto' || (name === 'n' && value === 1)) continue;
    if (typeof value === 'string' || typeof value === 'number') values[name] = String(value);
  }
  const urls = Array.isArray(images) ? images.filter((url) => typeof url === 'string') : [];
  return {
    values,
    inputs: urls.map((url, index) => ({ url, name: `image ${index + 1}` })),
    use: edit === true || urls.length === 0 ? 'edit' : 'reference',
    mask: typeof mask === 'string' ? mask : null,
  };
}
