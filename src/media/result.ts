/** The usage object of interface part 2.2. */
export interface MediaUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cached_input_tokens: number;
}

/** What a completed task gave, as its record keeps it. JSON. */
export interface StoredResult {
  /** Seconds since 1970. */
  readonly created: number;
  readonly outputs: readonly {
    /** The name of an asset. */
    readonly asset: string;
    readonly revisedPrompt: string | null;
  }[];
  /** Null where the provider does not tell. */
  readonly usage: MediaUsage | null;
}
