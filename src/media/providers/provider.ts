import type { Provider as ProviderSettings } from '../../config/schema.ts';
import type { ImagePool } from '../../operations/pool.ts';
import type { AbortSignalLike } from '../../upstream/abort-signal.ts';
import type { UpstreamClient } from '../../upstream/client.ts';
import type { Timeouts } from '../../upstream/request.ts';
import type { MediaUsage } from '../result.ts';
import type { AudioWork, ImageWork, VideoWork, Work } from '../work.ts';

/** An input of a work, loaded and proven to be an image. */
export interface InputFile {
  readonly bytes: Uint8Array;
  /** `image/png`. */
  readonly mediaType: string;
  /** `input-1.png`. */
  readonly filename: string;
}

/** A work with its inputs, as a provider gets it. */
export type Order<Kind extends Work = Work> = {
  readonly work: Kind;
  readonly inputs: readonly InputFile[];
  readonly mask: InputFile | null;
};

/** One thing that a provider made: its bytes, or where to get them. */
export type Product = (
  | { readonly bytes: Uint8Array }
  | {
      readonly url: string;
      /** Sent only where the URL is of the provider's own origin. */
      readonly headers?: Readonly<Record<string, string>>;
    }
) & {
  /** What the provider made of the prompt, where it tells. */
  readonly revisedPrompt?: string;
};

/** What a provider made: at least one thing, for images perhaps fewer than were asked for. */
export interface Production {
  readonly products: readonly Product[];
  readonly usage: MediaUsage | null;
}

/** What a provider works with while it fills one order. */
export interface Workshop {
  readonly settings: ProviderSettings;
  /** What the provider calls the model. */
  readonly model: string;
  /** The same whenever this task comes to this provider and model: where upstream can tell repeats apart. */
  readonly idempotencyKey: string;
  readonly upstream: UpstreamClient;
  readonly pool: ImagePool;
  readonly timeouts: Timeouts;
  /** Aborted at the task's deadline and when the daemon ends; its reason is to be thrown. */
  readonly signal: AbortSignalLike;
  /** What was noted for this provider and model before a crash; null where nothing was. */
  readonly noted: unknown;
  /** Makes sure that something survives a crash before it resolves: the identifier of an upstream's job. */
  note(progress: unknown): Promise<void>;
  /** To be waited for before a request that would be charged again if it were repeated after a crash. */
  asking(): Promise<void>;
}

/**
 * Somebody who makes media. Each method fills one order once, without retries, and waits for it to be
 * done, polling where the upstream works asynchronously.
 *
 * Failures are those of `upstreamFailure` and of `UpstreamClient.open`, without the provider's key in them.
 * Where the upstream may have charged for what cannot be used, it is `billable_error`: no other route
 * is tried then, nor this one again.
 */
export interface MediaProvider {
  makeImages(order: Order<ImageWork>, workshop: Workshop): Promise<Production>;
  makeVideo(order: Order<VideoWork>, workshop: Workshop): Promise<Production>;
  makeAudio(order: Order<AudioWork>, workshop: Workshop): Promise<Production>;
  /** @returns the answer of POST /v1/moderations, as the upstream gave it, its shape checked */
  moderate(input: ModerationInput, workshop: Workshop): Promise<ModerationAnswer>;
}

/** The `input` of OpenAI's moderations: a text, texts, or parts of one thing that are text or images. */
export type ModerationInput =
  | string
  | readonly string[]
  | readonly (
      | { readonly type: 'text'; readonly text: string }
      | { readonly type: 'image_url'; readonly image_url: { readonly url: string } }
    )[];

export interface ModerationAnswer {
  readonly id: string;
  readonly model: string;
  /** One for each text; one for all parts together. */
  readonly results: readonly {
    readonly flagged: boolean;
    readonly categories: Readonly<Record<string, boolean>>;
    readonly category_scores: Readonly<Record<string, number>>;
    readonly [more: string]: unknown;
  }[];
}
