/** A model of `GET /v1/models`, as far as this view reads it. */
export interface Model {
  readonly id: string;
  readonly type: string;
  readonly name?: string | null;
  readonly description?: string | null;
  readonly endpoints?: readonly string[];
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

/** Efforts of reasoning that a model has and a format can ask for. */
export function effortsOf(
  model: Model,
  { efforts }: { readonly efforts: readonly string[] | null },
): readonly string[] {
  const supported = model.capability_metadata?.reasoning?.supported_efforts ?? [];
  return supported.filter((effort) => efforts === null || efforts.includes(effort));
}
