import { hash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { FileErrorCode } from '../../error-codes.ts';
import { Failure } from '../../failure.ts';
import { FairSemaphore } from '../../fair-semaphore.ts';
import { sniff } from '../../images/decoding/sniff.ts';
import { FORMATS } from '../../images/formats.ts';
import { remember } from '../../maps.ts';
import type { FileError, Source } from '../../operations/definition/job.ts';
import { run } from '../../operations/recipe/run.ts';
import { choosesFormat, readSteps } from '../../operations/recipe/url-steps.ts';
import { readAt } from '../../store/files.ts';
import { limitsOf } from '../batch/response.ts';
import { warnRarely } from '../observability/log.ts';
import type { AppContext } from '../request/app-context.ts';
import { readAddress } from './address.ts';
import { type Rendered, RenderedImages } from './rendered-images.ts';
import { type FoundSource, imageSources, notFound, takeTurn } from './sources.ts';

/** The name of all images by URL among the clients of the pool. */
const CLIENT = 'images by URL';

/** Found sources that are remembered, and milliseconds for which they are. */
const MAX_REMEMBERED = 1000;
const FOUND_MS = 1000;

/** The answer to the URL of an image. */
export interface ImageAnswer {
  readonly image: Rendered | Promise<Rendered>;
  /** Whether the image, once it is there, comes from the cache. */
  isHit: boolean;
  /** Seconds since the epoch; null where the URL does not expire. */
  readonly expires: number | null;
  /** Whether `Accept` has decided the format. */
  readonly isNegotiated: boolean;
}

/** Images by URL: checks signatures, reads sources, renders and caches. */
export class ImageUrls {
  readonly cache: RenderedImages;
  readonly #context: AppContext;
  readonly #findSource: ReturnType<typeof imageSources>;
  readonly #renders: FairSemaphore;
  readonly #found = new Map<string, { readonly found: FoundSource; readonly at: number }>();

  constructor(context: AppContext) {
    const { config, upstream, pool, log } = context;
    this.#context = context;
    this.#findSource = imageSources(() => context.config, upstream);
    const onFault = warnRarely(log, 'rendered images cannot be read or written');
    const folder = join(config.dataDir, 'images');
    this.cache = new RenderedImages(folder, () => context.config.images.cache, onFault);
    // In the pool, all images by URL are one client, which takes turns with accounts and never has all slots.
    this.#renders = new FairSemaphore(pool.size);
  }

  /**
   * @param url path of the request as it was sent
   * @param accept the header of the request
   * @throws Failure
   */
  async answer(url: string, accept = ''): Promise<ImageAnswer> {
    const { images } = this.#context.config;
    const { steps, source, expires } = readAddress(url, images);
    const isNegotiated = images.formats.length > 0 && !choosesFormat(steps);
    const named = isNegotiated && images.formats.find((one) => accepts(accept, one));
    const format = named || (isNegotiated ? 'shown' : 'source');
    const found = await this.#find(source);
    const key = hash('sha256', `${format}\n${steps}\n${found.identity}`);
    const known = this.cache.remembered(key);
    if (known !== undefined) return { image: known, isHit: true, expires, isNegotiated };
    const image = this.cache.get(key, () => {
      answer.isHit = false;
      return this.#render(steps, format, found);
    });
    const answer: ImageAnswer = { image, isHit: true, expires, isNegotiated };
    return answer;
  }

  async #find(source: string): Promise<FoundSource> {
    const known = this.#found.get(source);
    const at = performance.now();
    if (known !== undefined && at - known.at < FOUND_MS) return known.found;
    const found = await this.#findSource(source);
    remember(this.#found, source, { found, at }, MAX_REMEMBERED);
    return found;
  }

  async #render(steps: string, format: string, found: FoundSource): Promise<Rendered> {
    const named = readSteps(steps, format === 'shown' ? 'source' : format);
    const { batch, images } = this.#context.config;
    const deadline = Math.min(batch.deadline, images.timeout);
    const limits = { ...limitsOf(batch), deadline };
    const { source, release } = await found.open();
    try {
      const isHidden = format === 'shown' && HIDDEN.has(await formatOf(source).catch(() => null));
      const options = isHidden ? readSteps(steps, 'png') : named;
      const end = await takeTurn(this.#renders, found.owner, AbortSignal.timeout(images.timeout));
      const job = { operation: run.name, options, source, limits };
      const result = await this.#context.pool.run(job, { client: CLIENT }).finally(end);
      if (!result.ok) throw failureOf(result.error);
      const { bytes, sha256, format: made } = result.images![0]!;
      const expiresAt = Date.now() + images.maxAge;
      return { bytes: Buffer.from(bytes), mediaType: FORMATS[made].mediaType, sha256, expiresAt };
    } finally {
      release();
    }
  }
}

/** Formats that a client may be unable to show if it names none. */
const HIDDEN: ReadonlySet<string | null> = new Set(['avif', 'jxl', 'tiff']);

/** The format of a source by its first bytes; null if it is no image that Oriel reads. */
async function formatOf(source: Source): Promise<string | null> {
  const handle = 'path' in source ? await open(source.path) : null;
  try {
    const sniffed = sniff('path' in source ? await readAt(handle!, 0, 512) : source.bytes);
    return sniffed && 'format' in sniffed ? sniffed.format : null;
  } finally {
    await handle?.close();
  }
}

/** Whether a client names a format in `Accept`: a wildcard is sent by clients that cannot show it, too. */
function accepts(accept: string, format: string): boolean {
  const entries = accept.split(',').map((one) => one.replace(/\s/g, '').split(';'));
  const entry = entries.find(([type]) => type === `image/${format}`);
  return entry !== undefined && !entry.some((part) => /^q=0(\.0*)?$/.test(part));
}

/** Status of failures of an image that are not 422. */
const STATUSES: Partial<Record<FileErrorCode, number>> = { unsupported_format: 415, timeout: 504 };

/** The failure of a source that cannot be rendered. A file may have been removed meanwhile. */
function failureOf({ code, message }: FileError): Failure {
  if (/^(not_found|read_failed|is_directory)$/.test(code)) return notFound();
  return new Failure('invalid_request', message, { code, status: STATUSES[code] ?? 422 });
}
