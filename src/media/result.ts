import * as v from 'valibot';
import { usageEntries } from '../schema/usage.ts';

export const usageShape = v.object(usageEntries);

export type MediaUsage = Readonly<v.InferOutput<typeof usageShape>>;

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
