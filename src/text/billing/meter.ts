import { defaultOutputTokensOf, isPriced, type TextModel } from '../../config/catalog.ts';
import { MAX_CREDITS } from '../../store/credits.ts';
import type { KeyHolder, Reservation, Store } from '../../store/store.ts';
import type { MediaPart, Part, TextRequest, Usage } from '../canonical.ts';

/** Bytes of JSON that make a token of input, and characters of text that make one of output, about. */
const BYTES_PER_TOKEN = 4;

/** What an image or a document is reckoned to be, whatever the length of its Base64. */
const TOKENS_PER_MEDIA = 1000;

/** Tokens that providers add to a request: instructions for tools, marks between messages. */
const ADDED_TOKENS = 500;

/** The most tokens of one image: 48,169 of 2048x2048 pixels with gpt-4o-mini. */
const MOST_PER_IMAGE = 50_000;

/** The most tokens of a document, or of media by address: a PDF of a hundred pages, each also an image. */
const MOST_PER_DOCUMENT = 200_000;

/** Base64 of compressed sound and pictures that makes a token: of 32 and 258 tokens a second. */
const AUDIO_BYTES_PER_TOKEN = 16;
const VIDEO_BYTES_PER_TOKEN = 4;

/** The most tokens of input that the request does not show, where the model's context is not known. */
const MOST_UNSEEN = 1_000_000;

/** Tokens of output that have been seen, where nobody has told the usage yet. */
export interface Seen {
  /** Whether the upstream can have begun to work. */
  readonly begun: boolean;
  readonly outputTokens: number;
}

/** Tokens of input, by the request. */
interface InputSize {
  /** Charged where the provider does not report it. */
  readonly likely: number;
  /** The upper bound: a token has one byte at least. */
  readonly most: number;
}

function mostTokensOf({ media, source }: MediaPart): number {
  if (media === 'image') return MOST_PER_IMAGE;
  if (source.kind !== 'data') return MOST_PER_DOCUMENT;
  const bytes = source.data.length;
  if (media === 'document') return MOST_PER_DOCUMENT + bytes;
  const rate = media === 'audio' ? AUDIO_BYTES_PER_TOKEN : VIDEO_BYTES_PER_TOKEN;
  return ADDED_TOKENS + Math.ceil(bytes / rate);
}

interface MediaSize {
  /** Of Base64. */
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

/** @param bytes of the request's body */
function inputSizeOf({ turns }: TextRequest, bytes: number): InputSize {
  const media: MediaSize = { bytes: 0, count: 0, most: 0 };
  for (const { parts } of turns) addMedia(media, parts);
  const text = Math.max(0, bytes - media.bytes);
  return {
    likely: Math.ceil(text / BYTES_PER_TOKEN) + media.count * TOKENS_PER_MEDIA,
    most: text + ADDED_TOKENS + media.most,
  };
}

export function outputEstimate(characters: number): number {
  return Math.ceil(characters / BYTES_PER_TOKEN);
}

/** Micro-credits, rounded up: nothing that costs is for nothing. */
function costOf({ price }: TextModel, { input, cachedInput, cacheWrite, output }: Usage): number {
  const cached = Math.min(cachedInput, input);
  const written = Math.min(cacheWrite, input - cached);
  const sum =
    (input - cached - written) * price.input +
    cached * (price.cachedInput ?? price.input) +
    written * (price.cacheWrite ?? price.input) +
    output * price.output;
  return Math.ceil(sum / 1_000_000);
}

/** The most of a request's tokens that are charged. */
interface Bounds {
  readonly input: number;
  readonly output: number;
}

/** Micro-credits of the largest charge within bounds: all of the input at its highest price. */
function largestCost({ price }: TextModel, { input, output }: Bounds): number {
  const { cachedInput = 0, cacheWrite = 0 } = price;
  const sum = input * Math.max(price.input, cachedInput, cacheWrite) + output * price.output;
  // No account has more, so that any larger sum is refused as insufficient credits too.
  return Math.min(Math.ceil(sum / 1_000_000), MAX_CREDITS);
}

function within(usage: Usage, bounds: Bounds): Usage {
  const input = Math.min(usage.input, bounds.input);
  return { ...usage, input, output: Math.min(usage.output, bounds.output) };
}

const NO_USAGE: Usage = { input: 0, output: 0, cachedInput: 0, cacheWrite: 0, reasoning: null };

export interface MeterOptions {
  /** The model's public identifier. */
  readonly id: string;
  readonly model: TextModel;
  readonly request: TextRequest;
  /** Of the request's body. */
  readonly bytes: number;
  /** Whether the provider adds input that the request does not show: stored texts, results of its tools. */
  readonly unseen: boolean;
  /** Requests to the provider that answer this one at most; the input is charged for each of them. */
  readonly requests: number;
  /** The output limit of a model that has none. */
  readonly defaultLimit: number;
  /** Whether reported usage is charged where it exceeds what was asked for. */
  readonly trustUpstream: boolean;
}

/** What was charged for one request. */
export interface Metered {
  readonly used: Usage;
  /** The usage that the upstream reported; null where all of it was charged. */
  readonly excess: Usage | null;
}

/** The credits of one request: held before, charged after, whatever became of it. */
export class Meter {
  readonly #store: Store;
  readonly #holder: KeyHolder;
  readonly #id: string;
  readonly #model: TextModel;
  /** Tokens of input that are charged where the provider reports none. */
  readonly #input: number;
  /** Null where nothing bounds the charge. */
  readonly #bounds: Bounds | null;
  #reservation: Reservation | null = null;
  #ended = false;

  private constructor(
    store: Store,
    holder: KeyHolder,
    { id, model }: Pick<MeterOptions, 'id' | 'model'>,
    { input, bounds }: { readonly input: number; readonly bounds: Bounds | null },
  ) {
    this.#store = store;
    this.#holder = holder;
    this.#id = id;
    this.#model = model;
    this.#input = input;
    this.#bounds = bounds;
  }

  /**
   * Holds the most that a request may cost.
   *
   * @throws Failure insufficient_quota
   */
  static async open(store: Store, holder: KeyHolder, options: MeterOptions): Promise<Meter> {
    const { model, request, bytes, unseen, requests, defaultLimit, trustUpstream } = options;
    const { likely, most } = inputSizeOf(request, bytes);
    const window = model.contextWindow ?? Infinity;
    const input = Math.min(likely, window);
    if (!isPriced(model)) return new Meter(store, holder, options, { input, bounds: null });
    const each = Math.min(unseen ? most + MOST_UNSEEN : most, window);
    const limit = request.maxOutputTokens ?? defaultOutputTokensOf(model) ?? defaultLimit;
    const bounds = { input: each * requests, output: limit * (request.n ?? 1) };
    const meter = new Meter(store, holder, options, {
      input,
      bounds: trustUpstream ? null : bounds,
    });
    const amount = largestCost(model, bounds);
    meter.#reservation = await store.reserve(holder.account.id, holder.key.id, amount);
    return meter;
  }

  /** Charges what was used; where the provider told nothing, what was seen of it. */
  async settle(usage: Usage | null, seen: Seen): Promise<Metered> {
    const told = usage ?? {
      ...NO_USAGE,
      input: seen.begun ? this.#input : 0,
      output: seen.outputTokens,
    };
    const used = this.#bounds === null ? told : within(told, this.#bounds);
    const isExceeded = used.input < told.input || used.output < told.output;
    const metered = { used, excess: isExceeded ? told : null };
    if (this.#ended) return metered;
    this.#ended = true;
    const { key, account } = this.#holder;
    const charge = costOf(this.#model, used);
    await this.#store.settle(this.#reservation ?? { accountId: account.id, keyId: key.id }, {
      model: this.#id,
      counts: {
        requests: 1,
        inputTokens: used.input,
        cachedInputTokens: Math.min(used.cachedInput, used.input),
        outputTokens: used.output,
      },
      charge,
    });
    return metered;
  }

  /** Gives back what was held: the request cost nothing. */
  async release(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    if (this.#reservation) await this.#store.release(this.#reservation);
  }
}
