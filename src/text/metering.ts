import type { TextModel } from '../config/catalog.ts';
import type { Hold, KeyHolder, Store } from '../store/store.ts';
import type { Part, TextRequest, Usage } from './canonical.ts';

/** Bytes of JSON that make a token of input, and characters of text that make one of output, about. */
const BYTES_PER_TOKEN = 4;

/** What an image or a document is reckoned to be, whatever the length of its Base64. */
const TOKENS_PER_MEDIA = 1000;

/** Output to hold credits for where neither the client nor the model sets a limit below it. */
const USUAL_OUTPUT = 4096;

/** Tokens of output that have been seen, where nobody has told the usage yet. */
export interface Seen {
  /** Whether the upstream can have begun to work. */
  readonly begun: boolean;
  readonly outputTokens: number;
}

interface Media {
  /** Of Base64. */
  bytes: number;
  count: number;
}

function addMedia(media: Media, parts: readonly Part[]): void {
  for (const part of parts) {
    if (part.type === 'media') {
      media.count += 1;
      if (part.source.kind === 'data') media.bytes += part.source.data.length;
    } else if (part.type === 'tool-result') {
      addMedia(media, part.content);
    }
  }
}

/** Tokens of input, by the length of the request. @param bytes of its body */
function inputEstimate({ turns }: TextRequest, bytes: number): number {
  const media: Media = { bytes: 0, count: 0 };
  for (const { parts } of turns) addMedia(media, parts);
  const text = Math.max(0, bytes - media.bytes);
  return Math.ceil(text / BYTES_PER_TOKEN) + media.count * TOKENS_PER_MEDIA;
}

export function outputEstimate(characters: number): number {
  return Math.ceil(characters / BYTES_PER_TOKEN);
}

/** Micro-credits, rounded up: nothing that costs is for nothing. */
function costOf({ price }: TextModel, { input, cachedInput, output }: Usage): number {
  const cached = Math.min(cachedInput, input);
  const cachedPrice = price.cachedInput ?? price.input;
  const sum = (input - cached) * price.input + cached * cachedPrice + output * price.output;
  return Math.ceil(sum / 1_000_000);
}

const NO_USAGE: Usage = { input: 0, output: 0, cachedInput: 0, cacheWrite: 0, reasoning: null };

/** The credits of one request: held before, charged after, whatever became of it. */
export class Meter {
  readonly #store: Store;
  readonly #holder: KeyHolder;
  readonly #id: string;
  readonly #model: TextModel;
  readonly #input: number;
  #hold: Hold | null = null;
  #ended = false;

  private constructor(
    store: Store,
    holder: KeyHolder,
    id: string,
    model: TextModel,
    input: number,
  ) {
    this.#store = store;
    this.#holder = holder;
    this.#id = id;
    this.#model = model;
    this.#input = input;
  }

  /**
   * Holds what a request may cost.
   *
   * @param bytes of the request's body
   * @throws Failure insufficient_quota
   */
  static async open(
    store: Store,
    holder: KeyHolder,
    {
      id,
      model,
      request,
      bytes,
    }: {
      readonly id: string;
      readonly model: TextModel;
      readonly request: TextRequest;
      readonly bytes: number;
    },
  ): Promise<Meter> {
    const { input, output } = model.price;
    const priced = input > 0 || output > 0 || (model.price.cachedInput ?? 0) > 0;
    const estimate = inputEstimate(request, bytes);
    const meter = new Meter(store, holder, id, model, estimate);
    if (!priced) return meter;
    const most =
      request.maxOutputTokens ?? Math.min(model.maxOutputTokens ?? Infinity, USUAL_OUTPUT);
    const usage = { ...NO_USAGE, input: estimate, output: most * (request.n ?? 1) };
    meter.#hold = await store.hold(holder.account.id, holder.key.id, costOf(model, usage));
    return meter;
  }

  /** Charges what was used; where the provider told nothing, what was seen of it. */
  async settle(usage: Usage | null, seen: Seen): Promise<Usage> {
    const used = usage ?? {
      ...NO_USAGE,
      input: seen.begun ? this.#input : 0,
      output: seen.outputTokens,
    };
    if (this.#ended) return used;
    this.#ended = true;
    const { key, account } = this.#holder;
    const charge = costOf(this.#model, used);
    await this.#store.settle(this.#hold ?? { accountId: account.id, keyId: key.id }, {
      model: this.#id,
      counts: {
        requests: 1,
        inputTokens: used.input,
        cachedInputTokens: used.cachedInput,
        outputTokens: used.output,
      },
      charge,
    });
    return used;
  }

  /** Gives back what was held: the request cost nothing. */
  async release(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    if (this.#hold) await this.#store.release(this.#hold);
  }
}
