import type { MediaPart, Part, TextRequest, Turn } from '../canonical/canonical.ts';
import { conversationIndexOf } from '../canonical/canonical.ts';
import { mediaTypeOf } from '../dialects/media-source.ts';
import { audioSeconds } from './audio-length.ts';
import { tokensIn } from './usage.ts';

/** Estimate for an image or a document, whatever the length of its Base64. */
const TOKENS_PER_MEDIA = 1000;

/** Tokens that providers add to a request: instructions for tools, marks between messages. */
const ADDED_TOKENS = 500;

/** Upper bound for one image: 48,169 of 2048x2048 pixels with gpt-4o-mini. */
const MAX_PER_IMAGE = 50_000;

/** Upper bound for a document, beside its bytes: a PDF of a hundred pages, each also an image. */
const MAX_PER_DOCUMENT = 200_000;

/** Upper bound for a second of sound: Gemini counts 32 tokens, OpenAI 10. */
const MAX_PER_SECOND = 64;

/** Upper bound for input of unknown length, where the model's context window is not configured. */
export const MAX_UNKNOWN_INPUT = 1_000_000;

/** Estimates of input tokens. */
export type InputSize = Readonly<ReturnType<typeof inputSizeOf>>;

/** Types of inline documents whose tokens their bytes bound. */
const BOUNDED_DOCUMENT = /^(?:text\/|application\/pdf$)/i;

/**
 * Tokens that one part may cost. Neither the bytes nor the header of most audio and of video bound their length:
 * a still picture compresses to almost nothing, and the client writes the header. Providers go by the type of
 * the content, so that a video may also come as an image or a document.
 */
function mostTokensOf({ media, source }: MediaPart): number {
  const type = mediaTypeOf(source);
  if (media === 'audio' && source.kind === 'data') {
    const seconds = audioSeconds(source.data);
    if (seconds !== null) return Math.ceil(seconds + 1) * MAX_PER_SECOND;
  }
  if (media === 'image' && /^image\//i.test(type ?? 'image/*')) return MAX_PER_IMAGE;
  const isBounded =
    media === 'document' && source.kind === 'data' && BOUNDED_DOCUMENT.test(source.mediaType);
  return isBounded ? MAX_PER_DOCUMENT + source.data.length : MAX_UNKNOWN_INPUT;
}

interface MediaSize {
  /** Bytes of Base64. */
  bytes: number;
  count: number;
  most: number;
}

function addMedia(size: MediaSize, parts: readonly Part[]): void {
  for (const part of parts) {
    if (part.type === 'media') {
      size.count += 1;
      size.most += mostTokensOf(part);
      if (part.source.kind === 'data') size.bytes += part.source.data.length;
    } else if (part.type === 'tool-result') {
      addMedia(size, part.content);
    }
  }
}

/** @param bytes length of the text, with the JSON around it, and of all Base64 */
function inputSizeOf(turns: readonly Turn[], bytes: number) {
  const media: MediaSize = { bytes: 0, count: 0, most: 0 };
  for (const { parts } of turns) addMedia(media, parts);
  const text = Math.max(0, bytes - media.bytes);
  return {
    /** Charged where the provider reports no usage. */
    likely: tokensIn(text) + media.count * TOKENS_PER_MEDIA,
    /** The same with the most that media may cost, charged where the client left before the provider's report. */
    cut: tokensIn(text) + media.most,
    /** Upper bound: a token has at least one byte. */
    most: text + ADDED_TOKENS + media.most,
  };
}

/** The sizes of all requests to upstreams, each of which has one of the conversations. */
export function inputSizesOf(request: TextRequest, bytes: number, requests: number): InputSize[] {
  const { turns, conversations } = request;
  const sizes = conversations?.map((one) => inputSizeOf(one, textBytes(one)));
  if (!sizes) return new Array<InputSize>(requests).fill(inputSizeOf(turns, bytes));
  return Array.from(
    { length: requests },
    (_, choice) => sizes[conversationIndexOf(request, choice)]!,
  );
}

function textBytes(turns: readonly Turn[]): number {
  let sum = 0;
  for (const { parts } of turns) {
    for (const part of parts) if (part.type === 'text') sum += Buffer.byteLength(part.text);
  }
  return sum;
}
