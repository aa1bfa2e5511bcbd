import type { TokenUsage } from './formats/answer.ts';

/** A model of `GET /v1/models`, as far as this view reads it. */
export interface Model {
  readonly id: string;
  readonly type: string;
  readonly name?: string | null;
  readonly description?: string | null;
  readonly endpoints?: readonly string[];
  readonly pricing?: Prices | undefined;
  /** Prices of requests with more input than `above`, the smallest first; those left out stay. */
  readonly pricing_tiers?: readonly Prices[] | undefined;
  readonly limits?: {
    readonly context_window?: number | null;
    readonly max_output_tokens?: number | null;
  };
  readonly capability_metadata?: {
    readonly reasoning?: {
      readonly supported_efforts?: readonly string[];
      readonly default_effort?: string | null;
    };
  };
}

type Prices = Readonly<Record<string, number>>;

/** Efforts of reasoning that a model has and a format can ask for. */
export function effortsOf(
  model: Model,
  { efforts }: { readonly efforts: readonly string[] | null },
): readonly string[] {
  const supported = model.capability_metadata?.reasoning?.supported_efforts ?? [];
  return supported.filter((effort) => efforts === null || efforts.includes(effort));
}

/** Credits that tokens cost by the prices of the catalog; null if it has none. */
export function creditsOf({ pricing, pricing_tiers }: Model, usage: TokenUsage): number | null {
  const tiers = (pricing_tiers ?? []).filter(({ above = 0 }) => usage.input > above);
  const prices: Prices = Object.assign({}, pricing, ...tiers);
  const input = prices['input_per_million_tokens'];
  const output = prices['output_per_million_tokens'];
  if (input === undefined || output === undefined) return null;
  const cached = prices['cached_input_per_million_tokens'] ?? input;
  const written = prices['cache_write_per_million_tokens'] ?? input;
  const plain = Math.max(0, usage.input - usage.cached - usage.cacheWritten);
  const total =
    plain * input + usage.cached * cached + usage.cacheWritten * written + usage.output * output;
  return total / 1e6;
}
