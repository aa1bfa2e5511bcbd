import type { Provider as ProviderSettings } from '../../config/settings/schema.ts';
import type { ImagePool } from '../../operations/pool/pool.ts';
import type { TextJobs } from '../../threads/text-threads.ts';
import type { Timeouts } from '../../upstream/request.ts';
import type { Upstream } from '../../upstream/response.ts';
import type {
  AudioTaskRequest,
  ImageTaskRequest,
  MediaUsage,
  TaskRequest,
  VideoTaskRequest,
} from '../task/task-request.ts';

/** A loaded input, verified as an image. */
export interface InputFile {
  readonly bytes: Uint8Array;
  /** `image/png`. */
  readonly mediaType: string;
  /** `input-1.png`. */
  readonly filename: string;
}

/** A task's request with its inputs loaded. */
export type MediaJob<Request extends TaskRequest = TaskRequest> = {
  readonly request: Request;
  readonly inputs: readonly InputFile[];
  readonly mask: InputFile | null;
};

/** One file that a provider made: its bytes, or a URL to download it from. */
export type OutputFile = (
  | { readonly bytes: Uint8Array }
  | {
      readonly url: string;
      /** Whether the download needs the provider's key, which only its own origin gets. */
      readonly needsKey?: true;
    }
) & {
  /** The prompt as the provider rewrote it, if it reports that. */
  readonly revisedPrompt?: string;
};

/** The output of a job: at least one file, for images perhaps fewer than requested. */
export interface MediaOutput {
  readonly files: readonly OutputFile[];
  readonly usage: MediaUsage | null;
}

/** What a provider needs to run one job. */
export interface ProviderContext {
  readonly settings: ProviderSettings;
  /** The provider's name of the model. */
  readonly model: string;
  /** Always the same for a task at this provider and model, for providers that recognise repeats. */
  readonly idempotencyKey: string;
  readonly upstream: Upstream;
  readonly pool: ImagePool;
  readonly textThreads: TextJobs;
  readonly timeouts: Timeouts;
  /** Header of requests that names the attempt's span; absent or null where providers are sent none. */
  readonly traceparent?: string | null;
  /** Aborted at the task's deadline and on shutdown; its reason is to be thrown. */
  readonly signal: AbortSignal;
  /** The state that `saveState` stored for this provider and model before a crash; null where none. */
  readonly savedState: unknown;
  /** Resolves once the state, such as the identifier of a remote job, is on disk. */
  saveState(state: unknown): Promise<void>;
  /** To be awaited before a request that would be charged again if it were repeated after a crash. */
  beforeBillableRequest(): Promise<void>;
}

/** Fields that change no result for the worse where a provider does not get them. */
export const ADVICE = ['seed', 'user'] as const;
type Advice = (typeof ADVICE)[number];

/**
 * A media provider. Each method runs one job once, without retries, and resolves when it is done,
 * polling where the upstream works asynchronously.
 *
 * Failures are those of `upstreamFailure` and of `UpstreamClient.open`, with the provider's key
 * redacted. Where the upstream may have charged for unusable output, the failure is `billable_error`:
 * neither this route nor another one is tried then.
 */
export interface MediaProvider {
  /** The image options that it has, and `quality` where it has the value hd; null for all. Others are left out. */
  readonly imageFields: readonly string[] | null;
  /** Formats of audio that it makes; null where it decides that for each model. */
  readonly audioFormats: readonly string[] | null;
  /** Fields by type of the request that it uses; others are left out. */
  readonly advice: Readonly<Record<TaskRequest['type'], readonly Advice[]>>;
  makeImages(job: MediaJob<ImageTaskRequest>, context: ProviderContext): Promise<MediaOutput>;
  makeVideo(job: MediaJob<VideoTaskRequest>, context: ProviderContext): Promise<MediaOutput>;
  makeAudio(job: MediaJob<AudioTaskRequest>, context: ProviderContext): Promise<MediaOutput>;
  /** @returns the upstream's response to POST /v1/moderations, its shape validated */
  moderate(input: ModerationInput, context: ProviderContext): Promise<ModerationAnswer>;
  transcribe(job: TranscriptionJob, context: ProviderContext): Promise<Transcript>;
}

/** An audio file on disk, recognised by its content. */
export interface AudioFile {
  readonly path: string;
  readonly size: number;
  /** `audio/mpeg`. */
  readonly mediaType: string;
  /** `audio.mp3`. */
  readonly filename: string;
}

export type TranscriptFormat = (typeof TRANSCRIPT_FORMATS)[number];

/** Forms of a transcript, as OpenAI has them. */
export const TRANSCRIPT_FORMATS = [
  'json',
  'text',
  'srt',
  'verbose_json',
  'vtt',
  'diarized_json',
] as const;

export interface TranscriptionRequest {
  /** Whether the transcript is English, whatever the language of the audio. */
  readonly translates?: boolean;
  readonly format: TranscriptFormat;
  /** Further fields of OpenAI's form as the client sent them. */
  readonly parameters: {
    readonly prompt?: string;
    readonly language?: string;
    readonly timestamp_granularities?: readonly string[];
    readonly include?: readonly string[];
    readonly [name: string]: string | number | boolean | readonly string[] | undefined;
  };
}

export interface TranscriptionJob {
  readonly request: TranscriptionRequest;
  readonly file: AudioFile;
}

/** A transcript: subtitles as text, everything else as OpenAI's JSON with its property `text`. */
export type Transcript = (
  | { readonly text: string }
  | { readonly json: Readonly<Record<string, unknown>> }
) & {
  /** Parameters that changed nothing. */
  readonly ignored: readonly string[];
};

/** The `input` of OpenAI's moderations: a text, texts, or text and image parts of one input. */
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
  /** One result for each text; one for all parts together. */
  readonly results: readonly {
    readonly flagged: boolean;
    readonly categories: Readonly<Record<string, boolean>>;
    readonly category_scores: Readonly<Record<string, number>>;
    readonly [more: string]: unknown;
  }[];
}

/** Parameters of an image request, without defaults: not every model accepts the value `auto`. */
export function imageParameters({ n, size, quality, user, options }: ImageTaskRequest) {
  return {
    ...(n > 1 && { n }),
    ...(size !== null && size !== 'auto' && { size }),
    ...(quality !== null && quality !== 'auto' && { quality }),
    ...(user !== null && { user }),
    ...options,
  };
}
