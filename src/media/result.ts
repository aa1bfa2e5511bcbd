/** The usage object of interface part 2.2. */
export interface MediaUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cached_input_tokens: number;
}

/** The result of a completed task as its record stores it. JSON. */
export interface StoredResult {
  /** Seconds since the epoch. */
  readonly created: number;
  readonly outputs: readonly {
    /** Name of an asset. */
    readonly asset: string;
    readonly revisedPrompt: string | null;
  }[];
  /** Null where the provider reports none. */
  readonly usage: MediaUsage | null;
}
