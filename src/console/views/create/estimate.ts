import type { Model } from '../../api/models.ts';

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
