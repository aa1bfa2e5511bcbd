import type { Model } from '../../api/resource.ts';
import type { Draft, Input } from './draft.ts';
import { fieldsFor, isEdit, type Situation } from './fields.ts';
import { isDrawn } from './mask.ts';

const PATHS = {
  image: 'v1/images/generations',
  video: 'v1/videos/generations',
  audio: 'v1/audio/generations',
} as const;

/** A request that creates a task. */
export interface MediaRequest {
  readonly path: string;
  readonly fields: Readonly<Record<string, unknown>>;
  /** Files of an edit, which is sent as a form; null for a JSON body. */
  readonly edit: { readonly images: readonly Input[]; readonly mask: Draft['mask'] } | null;
}

/** The request of a draft without faults. */
export function requestOf(situation: Situation): MediaRequest {
  const { kind, model, draft } = situation;
  const { values, inputs, mask } = draft;
  const fields: Record<string, unknown> = { model: model.id, prompt: values['prompt'] ?? '' };
  const size = values['size']?.trim();
  if (kind !== 'audio' && size) fields['size'] = size;
  for (const { name, type } of fieldsFor(situation)) {
    const text = values[name]?.trim();
    if (text) fields[name] = type === 'number' ? Number(text) : text;
  }
  if (isEdit(situation)) {
    const edit = { images: inputs, mask: isDrawn(mask) ? mask : null };
    return { path: 'v1/images/edits', fields, edit };
  }
  if (kind !== 'audio' && inputs.length > 0) fields['input_images'] = inputs.map(({ url }) => url);
  return { path: PATHS[kind], fields, edit: null };
}

/** Credits that a request costs by the prices of the catalog; null where it has none. */
export function estimateOf(
  { type, pricing, limits }: Pick<Model, 'type' | 'pricing' | 'limits'>,
  fields: Readonly<Record<string, unknown>>,
): number | null {
  if (type === 'image') {
    const price = pricing['per_image'];
    return price === undefined ? null : rounded(price * Number(fields['n'] ?? 1));
  }
  if (type === 'audio') return pricing['per_request'] ?? null;
  const price = pricing['per_video'];
  if (price === undefined) return null;
  const perSecond = pricing['per_second'] ?? 0;
  if (perSecond === 0) return price;
  const seconds = fields['duration'] ?? limits['default_duration'];
  return seconds == null ? null : rounded(price + perSecond * Number(seconds));
}

/** Credits have six decimals; binary fractions must not show. */
function rounded(credits: number): number {
  return Math.round(credits * 1e6) / 1e6;
}
