import type { Effort } from '../config/models.ts';
import type { Failure } from '../failure.ts';

/** A value as JSON.parse gives it: an object. */
export type Json = Readonly<Record<string, unknown>>;

/** The name of a wire format of text in `dialects/registry.ts`. */
export type DialectName = string;

/**
 * What makes reasoning worth sending back to who wrote it: a signature, an encrypted payload, an
 * identifier. Nobody else can read it, so it goes back to its own provider and to no other.
 */
export interface ReasoningSignature {
  readonly dialect: DialectName;
  /** The provider of the configuration that gave it; null where the client sent it bare. */
  readonly provider: string | null;
  /** In the terms of its dialect: `signature`; `data`; `id` and `encrypted_content`. */
  readonly value: Json;
}

/** Begins the identifier of a file that a provider already has. */
export const FILE_SCHEME = 'ms://';

export type MediaSource =
  | { readonly kind: 'url'; readonly url: string }
  /** Base64. */
  | { readonly kind: 'data'; readonly mediaType: string; readonly data: string }
  /** What the provider calls a file that it already has. */
  | { readonly kind: 'file'; readonly id: string };

/** Where a part stands in the request that the client sent: `messages[2].content[0]`. */
interface Placed {
  readonly path: string;
}

export interface TextPart extends Placed {
  readonly type: 'text';
  readonly text: string;
}

export interface MediaPart extends Placed {
  readonly type: 'media';
  readonly media: 'image' | 'document' | 'audio' | 'video';
  readonly source: MediaSource;
  readonly detail: string | null;
  readonly filename: string | null;
}

export interface ReasoningPart extends Placed {
  readonly type: 'reasoning';
  /** Empty where only the signature was given. */
  readonly text: string;
  readonly signature: ReasoningSignature | null;
}

export interface ToolCallPart extends Placed {
  readonly type: 'tool-call';
  readonly id: string;
  readonly name: string;
  /** A JSON object as text; `{}` where the model gave nothing. */
  readonly arguments: string;
}

export interface ToolResultPart extends Placed {
  readonly type: 'tool-result';
  readonly callId: string;
  readonly content: readonly (TextPart | MediaPart | NativePart)[];
  readonly isError: boolean;
}

export interface RefusalPart extends Placed {
  readonly type: 'refusal';
  readonly text: string;
}

/** What only one dialect has a word for. It goes back to that dialect as it came, and nowhere else. */
export interface NativePart extends Placed {
  readonly type: 'native';
  readonly dialect: DialectName;
  readonly value: unknown;
}

export type Part =
  | TextPart
  | MediaPart
  | ReasoningPart
  | ToolCallPart
  | ToolResultPart
  | RefusalPart
  | NativePart;

export interface Turn extends Placed {
  /** Tool results are parts of a user's turn. Neighbours may have the same role. */
  readonly role: 'system' | 'developer' | 'user' | 'assistant';
  readonly parts: readonly Part[];
  readonly name: string | null;
  /** The answer goes on where this turn of the assistant stops (interface part 4.1, rule 6). */
  readonly partial: boolean;
  /** Tools that a system turn brings in midway (the same rule); null for none. */
  readonly tools: readonly (Tool | NativePart)[] | null;
}

/** A function that the model may call. */
export interface Tool extends Placed {
  readonly type: 'tool';
  readonly name: string;
  readonly description: string | null;
  /** JSON Schema as the caller gave it; null where none was. */
  readonly parameters: Json | null;
  readonly strict: boolean | null;
}

export type ToolChoice =
  | { readonly type: 'auto' | 'none' | 'required' }
  | { readonly type: 'tool'; readonly name: string }
  | NativePart;

export type ResponseFormat =
  | { readonly type: 'text' | 'json-object' }
  | {
      readonly type: 'json-schema';
      /** Null where the dialect gives schemas no name. */
      readonly name: string | null;
      readonly description: string | null;
      readonly schema: Json;
      readonly strict: boolean | null;
    };

/** How much the model is to reason. */
export interface ReasoningRequest {
  /** Null where the client leaves it to the model, or gives a budget instead. */
  readonly effort: Effort | null;
  /** In tokens. */
  readonly budget: number | null;
  /** How reasoning is to be told: `auto`, `concise`, `detailed`. */
  readonly summary: string | null;
}

/**
 * Single values of a request. Each dialect says how it calls them; null where the client did not say,
 * so that the provider's default applies.
 */
export interface RequestSettings {
  readonly toolChoice: ToolChoice | null;
  readonly parallelToolCalls: boolean | null;
  readonly maxOutputTokens: number | null;
  readonly temperature: number | null;
  readonly topP: number | null;
  readonly topK: number | null;
  readonly stop: readonly string[] | null;
  readonly n: number | null;
  readonly frequencyPenalty: number | null;
  readonly presencePenalty: number | null;
  readonly seed: number | null;
  readonly logprobs: boolean | null;
  readonly topLogprobs: number | null;
  readonly logitBias: Json | null;
  readonly format: ResponseFormat | null;
  readonly verbosity: string | null;
  readonly reasoning: ReasoningRequest | null;
}

export type RequestSetting = keyof RequestSettings;

/** A request for text in any dialect, understood. */
export interface TextRequest extends RequestSettings {
  /** How the client wrote it, and how it wants its answer. */
  readonly dialect: DialectName;
  /** As it was sent, for routes of the same dialect. Never changed in place. */
  readonly body: Json;
  /** The public identifier. */
  readonly model: string;
  readonly stream: boolean;
  /** Whether a stream is to end with its usage: a question only in chat, where it must be asked for. */
  readonly includeUsage: boolean;
  readonly turns: readonly Turn[];
  readonly tools: readonly (Tool | NativePart)[];
  /** Properties that other dialects have no word for and that change what is answered. */
  readonly native: readonly NativePart[];
  /** Paths of what only advises (caching, abuse tracking, labels): left out where nobody can take it. */
  readonly advice: readonly string[];
}

/** Tokens. */
export interface Usage {
  /** All of the input, whatever a cache gave or kept of it. */
  readonly input: number;
  /** All of the output, reasoning included. */
  readonly output: number;
  /** Of the input: what came from a cache. */
  readonly cachedInput: number;
  /** Of the input: what was written to a cache. */
  readonly cacheWrite: number;
  /** Of the output; null where the provider does not say. */
  readonly reasoning: number | null;
}

export type FinishReason = 'stop' | 'length' | 'tool-calls' | 'refusal' | 'pause' | 'other';

/** A place on the web that a text refers to. */
export interface Citation {
  readonly url: string;
  readonly title: string | null;
  /** Positions in the block's text; null where the provider does not say. */
  readonly start: number | null;
  readonly end: number | null;
  readonly quote: string | null;
}

/**
 * What happens while a model answers, whoever it is. `start` comes first and once; then blocks, one
 * after another: each has a number of its own, ascending from 0, starts, goes on and ends before the
 * next one starts; then `finish`, or `error`, and nothing after.
 */
export type TextEvent =
  | { readonly type: 'start'; readonly id: string | null; readonly model: string | null }
  /** What is known of the usage before the end; the whole of it so far. */
  | { readonly type: 'usage'; readonly usage: Usage }
  | { readonly type: 'text-start'; readonly block: number }
  | {
      readonly type: 'text-delta';
      readonly block: number;
      readonly text: string;
      /** As chat and responses both write them; absent where none came. */
      readonly logprobs?: readonly unknown[];
    }
  | { readonly type: 'citation'; readonly block: number; readonly citation: Citation }
  | { readonly type: 'text-end'; readonly block: number }
  | { readonly type: 'refusal-start'; readonly block: number }
  | { readonly type: 'refusal-delta'; readonly block: number; readonly text: string }
  | { readonly type: 'refusal-end'; readonly block: number }
  | { readonly type: 'reasoning-start'; readonly block: number }
  | { readonly type: 'reasoning-delta'; readonly block: number; readonly text: string }
  | {
      readonly type: 'reasoning-end';
      readonly block: number;
      readonly signature: ReasoningSignature | null;
    }
  | {
      readonly type: 'tool-start';
      readonly block: number;
      readonly id: string;
      /** As the client calls the tool. */
      readonly name: string;
    }
  /** A piece of the arguments' JSON. No piece at all means `{}`. */
  | { readonly type: 'tool-delta'; readonly block: number; readonly json: string }
  | { readonly type: 'tool-end'; readonly block: number }
  /** A whole block that only one dialect has a word for. */
  | {
      readonly type: 'native';
      readonly block: number;
      readonly dialect: DialectName;
      readonly value: unknown;
      /** Events for clients of other dialects; absent if the block cannot be translated. */
      readonly translation?: readonly TextEvent[];
    }
  | {
      readonly type: 'finish';
      /** A turn that called a tool and stopped is `tool-calls`, whatever the provider says. */
      readonly reason: FinishReason;
      /** In the provider's own word. */
      readonly raw: string | null;
      readonly stopSequence: string | null;
      /** Null where the provider told none. */
      readonly usage: Usage | null;
    }
  | { readonly type: 'error'; readonly failure: Failure };
