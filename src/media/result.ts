import * as v from 'valibot';
import { usageEntries } from '../schema/usage.ts';

export const usageShape = v.object(usageEntries);

export type MediaUsage = Readonly<v.InferOutput<typeof usageShape>>;

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
