import * as v from 'valibot';
import type { Model } from '../../config/settings/schema.ts';
import { usageEntries } from '../../schema/usage.ts';

/**
 * The request of a task as its record stores it: validated, with its size chosen and its inputs
 * accepted. JSON; null stands for a field that the client left out.
 */
export type TaskRequest = ImageTaskRequest | VideoTaskRequest | AudioTaskRequest;

/** A reference image: a URL that is fetched when the task runs, or the name of a stored asset. */
export type InputReference = { readonly url: string } | { readonly asset: string };

interface PromptFields {
  readonly prompt: string;
  /** Seed for repeatable results, as far as the provider supports it. */
  readonly seed: number | null;
  /** The client's identifier of its end user, passed on to providers that accept one. */
  readonly user: string | null;
  /** The part of the requested name that the model's wildcard stands for; missing without one. */
  readonly wildcardPart?: string;
}

export const QUALITIES = ['auto', 'low', 'medium', 'high'] as const;
/** Those of OpenAI's models without native sizes. */
export const DALL_E_QUALITIES = ['standard', 'hd'] as const;
export type Quality = (typeof QUALITIES)[number] | (typeof DALL_E_QUALITIES)[number];

/** Fields of OpenAI's image requests that not every provider has. */
export const IMAGE_OPTIONS = [
  'background',
  'moderation',
  'output_format',
  'output_compression',
  'style',
  'input_fidelity',
] as const;

/** The options of a request, as providers are sent them. */
export type ImageOptions = {
  readonly [Name in (typeof IMAGE_OPTIONS)[number]]?: string | number;
};

export interface ImageTaskRequest extends PromptFields {
  readonly type: 'image';
  /** Whether the inputs are edited, rather than used as references. */
  readonly edit: boolean;
  /** Whether the only input is varied, without a prompt; missing otherwise. */
  readonly variation?: true;
  /** Number of images: 1 to 10. */
  readonly n: number;
  /**
   * Size to request from the provider: `auto`, `WIDTHxHEIGHT`, or for models without native sizes the
   * client's own value; null where it sent none.
   */
  readonly size: string | null;
  /** Whether the model has native sizes, so that a result of another size than `size` is invalid. */
  readonly native: boolean;
  readonly quality: Quality | null;
  /** Missing where the client chose none, and in records of earlier versions. */
  readonly options?: ImageOptions;
  /** At most 16 images. */
  readonly inputs: readonly InputReference[];
  /** Area of the first input to edit: a PNG of its size with alpha. */
  readonly mask: InputReference | null;
}

export interface VideoTaskRequest extends PromptFields {
  readonly type: 'video';
  /** `1280x720` or a ratio; null where the client sent none. */
  readonly size: string | null;
  /** Seconds. */
  readonly duration: number;
  readonly inputs: readonly InputReference[];
}

export interface AudioTaskRequest extends PromptFields {
  readonly type: 'audio';
  readonly voice: Voice | null;
  /** `mp3`, `wav`, `opus`, `aac`, `flac`, `pcm`. */
  readonly format: string | null;
  /** Seconds. */
  readonly duration: number | null;
  /** How to speak; missing where the client sent none. */
  readonly instructions?: string;
  /** Missing at the usual speed of 1. */
  readonly speed?: number;
}

/** A voice by its name, or one of the provider's account by its identifier. */
export type Voice = string | { readonly id: string };

export const voiceName = (voice: Voice): string => (typeof voice === 'string' ? voice : voice.id);

/** The price of a task by a model of its type, in micro-credits. */
export function priceOf(request: TaskRequest, model: Model): number {
  if (request.type === 'image' && model.type === 'image') return model.price.perImage * request.n;
  if (request.type === 'video' && model.type === 'video') {
    return model.price.perVideo + model.price.perSecond * request.duration;
  }
  if (request.type === 'audio' && model.type === 'audio') return model.price.perRequest;
  throw new TypeError(`a model of type ${model.type} has no price for ${request.type}`);
}

/**
 * The charge for a task by the number of its outputs. Derived from the reservation, since the
 * configured price may have changed meanwhile.
 *
 * @param reserved the result of `priceOf` when the task was created
 */
export function chargeOf(request: TaskRequest, reserved: number, outputs: number): number {
  return request.type === 'image' ? (reserved / request.n) * outputs : reserved;
}

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
