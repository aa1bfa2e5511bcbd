import { availableParallelism } from 'node:os';
import type { Config } from '../config/settings/schema.ts';
import type { FileErrorCode } from '../error-codes.ts';
import { Failure } from '../failure.ts';
import { FairSemaphore } from '../fair-semaphore.ts';
import { FORMATS } from '../images/formats.ts';
import type { Limits } from '../images/limits.ts';
import type { FileError } from '../operations/definition/job.ts';
import type { SharedPool } from '../operations/pool/pool.ts';
import { findRecipe } from '../operations/recipe/presets.ts';
import type { Recipe } from '../operations/recipe/recipe.ts';
import { run } from '../operations/recipe/run.ts';
import type { TextThreads } from '../threads/text-threads.ts';
import type { Upstream } from '../upstream/response.ts';
import { choosesFormat, type ImageAddress, readAddress, recipeOf } from './address.ts';
import { type Rendered, RenderedImages } from './rendered-images.ts';
import { type FoundSource, ImageSources, takeTurn } from './sources.ts';

/** The name of all images by URL among the clients of the pool. */
const CLIENT = 'images by URL';

const TRIM_INTERVAL_MS = 60_000;

/** Checked recipes and found sources that are remembered, and milliseconds for which a source is. */
const MAX_REMEMBERED = 1000;
const FOUND_MS = 1000;

interface ImageUrlsOptions {
  readonly config: () => Config;
  /** Folder of the cache. */
  readonly folder: string;
  readonly pool: SharedPool;
  readonly textThreads: TextThreads;
  readonly upstream: Upstream;
  readonly onFault: (error: unknown) => void;
}

/** The answer to the URL of an image. */
export interface ImageAnswer {
  readonly result: 'hit' | 'miss' | 'placeholder';
  /** Null for a placeholder. */
  readonly image: Rendered | null;
  /** Seconds for which clients may keep it. */
  readonly maxAge: number;
  /** Whether `Accept` has decided the format. */
  readonly isNegotiated: boolean;
}

/** Images by URL: checks signatures, reads sources, renders and caches. */
export class ImageUrls {
  readonly cache: RenderedImages;
  readonly #options: ImageUrlsOptions;
  readonly #sources: ImageSources;
  readonly #renders: FairSemaphore;
  readonly #recipes = new Map<string, Promise<Recipe>>();
  readonly #timer: NodeJS.Timeout;
  readonly #found = new Map<
    string,
    { readonly found: Promise<FoundSource>; readonly at: number }
  >();

  constructor(options: ImageUrlsOptions) {
    const { config, folder, upstream, onFault } = options;
    this.#options = options;
    this.#sources = new ImageSources(config, upstream);
    this.cache = new RenderedImages({ folder, onFault, size: () => config().images.cache });
    const { images, pool } = config();
    const half = Math.floor((pool.threads ?? availableParallelism()) / 2);
    this.#renders = new FairSemaphore(images.parallel ?? Math.max(1, half));
    this.#timer = setInterval(() => this.cache.trim(), TRIM_INTERVAL_MS).unref();
  }

  /** Resolves when images are written. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.cache.written();
  }

  /**
   * @param url path of the request as it was sent
   * @param accept the header of the request
   * @throws Failure
   */
  async answer(url: string, accept: string | undefined, signal: AbortSignal): Promise<ImageAnswer> {
    const { images } = this.#options.config();
    const now = Date.now();
    const address = readAddress(url, images, now);
    const { steps, source, expires } = address;
    const isNegotiated = images.formats.length > 0 && !choosesFormat(steps);
    const format = (isNegotiated && images.formats.find((one) => accepts(accept, one))) || 'source';
    const found = await this.#find(source);
    const key = RenderedImages.keyOf(`${format}\n${steps}\n${found.identity}`);
    const answer = (result: ImageAnswer['result'], image: Rendered | null): ImageAnswer => {
      const until = Math.min(image?.expiresAt ?? 0, (expires ?? Infinity) * 1000);
      return { result, image, isNegotiated, maxAge: Math.max(0, Math.floor((until - now) / 1000)) };
    };
    const known = this.cache.remembered(key);
    if (known !== undefined) return answer('hit', known);
    let result: ImageAnswer['result'] = 'hit';
    const image = this.cache.get(key, signal, (abort) => {
      result = 'miss';
      return this.#render(address, format, found, abort);
    });
    const { placeholder } = images;
    if (placeholder === undefined) {
      const made = await image;
      return answer(result, made);
    }
    image.catch(() => {});
    const pause = new Promise<null>((resolve) => setTimeout(resolve, placeholder, null));
    const first = await Promise.race([image, pause]);
    return answer(first ? result : 'placeholder', first);
  }

  async #find(source: string): Promise<FoundSource> {
    const known = this.#found.get(source);
    if (known !== undefined && performance.now() - known.at < FOUND_MS) return known.found;
    const found = this.#sources.find(source);
    found.catch(() => {});
    remember(this.#found, source, { found, at: performance.now() });
    return found;
  }

  /** @throws Failure `invalid_recipe` */
  async #recipe(steps: string, format: string): Promise<Recipe> {
    const name = `${format} ${steps}`;
    const known = this.#recipes.get(name);
    if (known !== undefined) return known;
    const threads = this.#options.textThreads.forClient(CLIENT);
    const recipe = findRecipe(recipeOf(steps, format), { origin: 'steps', set: [] }, threads);
    remember(this.#recipes, name, recipe);
    recipe.catch(() => this.#recipes.delete(name));
    return recipe;
  }

  async #render(
    { steps }: ImageAddress,
    format: string,
    found: FoundSource,
    signal: AbortSignal,
  ): Promise<Rendered> {
    const options = await this.#recipe(steps, format);
    if (run.images!(options).length > 0) {
      const message = 'steps: expected none that needs a second image';
      throw new Failure('invalid_request', message, { code: 'invalid_recipe', param: 'steps' });
    }
    const { source, release } = await found.open(signal);
    try {
      const end = await takeTurn(this.#renders, found.owner, signal);
      try {
        const job = { operation: run.name, options, source, limits: this.#limits() };
        const result = await this.#options.pool.run(job, { client: CLIENT, signal });
        if (!result.ok) throw failureOf(result.error);
        const { bytes, sha256, format: made } = result.images![0]!;
        const expiresAt = Date.now() + this.#options.config().images.maxAge;
        const { mediaType } = FORMATS[made];
        return {
          bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length),
          mediaType,
          sha256,
          expiresAt,
        };
      } finally {
        end();
      }
    } finally {
      release();
    }
  }

  #limits(): Limits {
    const { batch, images } = this.#options.config();
    const { pixels, frames, side, svg } = batch;
    const deadline = Math.min(batch.deadline, images.timeout);
    const svgSwitch = "the operator's setting batch.svg";
    return { fileBytes: images.maxSize, pixels, frames, side, deadline, svg, svgSwitch };
  }
}

function remember<Value>(map: Map<string, Value>, name: string, value: Value): void {
  map.delete(name);
  map.set(name, value);
  if (map.size > MAX_REMEMBERED) map.delete(map.keys().next().value!);
}

/** Whether a client names a format in `Accept`: a wildcard is sent by clients that cannot show it, too. */
function accepts(accept = '', format: string): boolean {
  const entry = accept
    .split(',')
    .find((one) => one.trim().split(/[\s;]/, 1)[0] === `image/${format}`);
  return entry !== undefined && !/;\s*q=0(\.0*)?\s*$/.test(entry);
}

/** Status of failures of an image that are not 422. */
const STATUSES: Partial<Record<FileErrorCode, number>> = { unsupported_format: 415, timeout: 504 };

/** The failure of a source that cannot be rendered. Its file may have been removed meanwhile. */
function failureOf({ code, message }: FileError): Failure {
  if (['not_found', 'read_failed', 'is_directory'].includes(code)) {
    return new Failure('invalid_request', 'there is no such source', { code: 'source_not_found' });
  }
  return new Failure('invalid_request', message, { code, status: STATUSES[code] ?? 422 });
}
