import type { NewAsset } from '../store/asset.ts';
import type { Typed } from '../store/document.ts';
import type { MeteredUsage } from '../store/ledger.ts';

/** The kind of a batch's document: by the API that created it, OpenAI's or Anthropic's. */
export type BatchKind = 'batch' | 'message_batch';

/** Where a line begins in the input. */
export interface LinePlace {
  readonly offset: number;
  readonly number: number;
}

/** Decided results of consecutive lines, which may not be charged yet. */
interface PendingSegment {
  readonly asset: NewAsset;
  readonly lines: number;
  readonly failed: number;
  /** Lines that the provider did not run. */
  readonly unrun?: number;
  readonly at: LinePlace;
  readonly usage: readonly MeteredUsage[];
}

/** Lines that one node runs in order. */
export interface BatchRange {
  readonly id: number;
  /** The first line without a result. */
  readonly at: LinePlace;
  /** Lines without a result. */
  readonly lines: number;
  /** The node that works on it, while its lease lasts. */
  readonly by?: string | undefined;
  readonly pending?: PendingSegment;
}

/** A fault of an input. */
export interface InputFault {
  readonly code: string;
  readonly line: number | null;
  readonly message: string;
  readonly param: string | null;
}

/** Requests that were sent to a provider, or were about to be when the process ended. */
export interface SentBatch {
  /** The batch's identifier: a part of each request's name, and metadata of OpenAI's batches. */
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly count: number;
}

/** A provider's batch, whose results become those of the lines. */
export interface RemoteBatch {
  /** Name of the provider in the configuration. */
  readonly provider: string;
  /** Written before the batch is sent, so that it can be found at the provider after a crash. */
  readonly sent?: SentBatch;
  /** The provider's identifier, once it has the batch. */
  readonly id?: string;
  readonly isCancelled?: true;
  /** The provider's results, once it has ended. */
  readonly results?: readonly NewAsset[];
  readonly ended?: BatchEnd;
}

export type BatchEnd = 'completed' | 'expired' | 'cancelled';

/** The body of a batch's document. Times are milliseconds since the epoch. */
export interface BatchBody {
  readonly endpoint: string;
  readonly keyId: string;
  readonly tags: string;
  readonly metadata: Readonly<Record<string, string>> | null;
  /** The file of the input; null where the batch owns the asset. */
  readonly inputFile: string | null;
  readonly input: NewAsset;
  readonly status: 'in_progress' | 'cancelling' | 'failed' | BatchEnd;
  readonly fault: InputFault | null;
  readonly total: number;
  readonly succeeded: number;
  readonly failed: number;
  /** Null if Oriel sends each line as a request of its own. */
  readonly remote?: RemoteBatch | null;
  /** Ranges with lines left. */
  readonly ranges: readonly BatchRange[];
  readonly segments: readonly NewAsset[];
  /** When the leases of the nodes that work on it expire. */
  readonly leases: Readonly<Record<string, number>>;
  /** Identifiers of the files with results, and with failed ones; null for no file. */
  readonly outputs: readonly [results: string | null, failures: string | null];
  readonly expires: number;
  readonly cancelling?: number;
  readonly ended?: number;
}

export type BatchDocument = Typed<BatchBody>;
