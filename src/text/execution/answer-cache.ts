import { parseDuration } from '../../config/fields/units.ts';
import { CachedRequest } from '../../exchanges/cache/cached-request.ts';
import type { ExactCache } from '../../exchanges/cache/exact-cache.ts';
import type { RecordedAnswer } from '../../exchanges/exchange.ts';
import type { KeyHolder } from '../../store/store.ts';
import type { Upstream } from '../../upstream/response.ts';
import type { CacheResult, TextReport } from '../canonical/report.ts';
import type { Headers } from '../dialects/dialect.ts';

/** The header that says whether an answer came from the exact cache. */
export const CACHE_HEADER = 'x-oriel-cache';

/** Characters of a client's Cache-Control that are read. */
const MAX_DIRECTIVES = 1000;

interface CacheOptions {
  readonly cache: ExactCache;
  readonly holder: KeyHolder;
  readonly headers: Headers;
  /** The model's public identifier, and its settings. */
  readonly id: string;
  readonly model: { readonly cache?: { readonly ttl: number } | undefined };
  readonly isCacheable: boolean;
  readonly report: TextReport;
  /** Called with the result whenever it changes. */
  readonly onResult?: (result: CacheResult) => void;
}

/** The exact cache as one client's request sees it. */
export class AnswerCache {
  readonly #request: CachedRequest | null;
  readonly #onResult: (result: CacheResult) => void;
  readonly #reads: boolean;
  /** Answers that the last lookup did not find. */
  readonly #missed = new Set<number>();

  constructor(request: CachedRequest | null, reads: boolean, onResult: (one: CacheResult) => void) {
    this.#request = request;
    this.#reads = reads;
    this.#onResult = onResult;
    onResult('bypass');
  }

  /** Whether recorded answers alone can answer while no provider can be asked. */
  get canReplay(): boolean {
    return this.#request !== null && this.#reads;
  }

  set isOffline(isOffline: boolean) {
    if (this.#request !== null) this.#request.isOffline = isOffline;
  }

  /** @param onLookup called once it is known whether the answer comes from the cache */
  through(
    upstream: Upstream,
    isKept: (answer: RecordedAnswer) => boolean,
    onLookup: (isHit: boolean) => void,
    choice = 0,
  ): Upstream {
    if (this.#request === null) return upstream;
    const found = (isHit: boolean) => {
      if (isHit) this.#missed.delete(choice);
      else this.#missed.add(choice);
      onLookup(isHit);
      if (this.#reads) this.#onResult(this.#missed.size > 0 ? 'miss' : 'hit');
    };
    return this.#request.through({ choice, onLookup: found, isKept });
  }

  end(how: 'answered' | 'failed' | 'abandoned'): void {
    this.#request?.end(how);
  }
}

/** The cache of a request; null where neither its model nor its key has one. */
export function openCache(options: CacheOptions): AnswerCache | null {
  const { cache, holder, headers, id, model, isCacheable, report, onResult } = options;
  const { key, account } = holder;
  const ttl = key.cache === undefined ? (model.cache?.ttl ?? 0) : (parseDuration(key.cache) ?? 0);
  if (ttl === 0) return null;
  const { maxAge, isStored } = directivesIn(headers['cache-control']);
  const policy = { accountId: account.id, model: id, ttl, maxAge };
  const request = isCacheable && isStored ? new CachedRequest(cache, policy) : null;
  return new AnswerCache(request, maxAge !== null, (result) => {
    report.cache = result;
    onResult?.(result);
  });
}

const NO_CACHE = directive('no-cache');
const NO_STORE = directive('no-store');
const MAX_AGE = /(?:^|,)\s*max-age\s*=\s*"?(\d{1,12})"?\s*(?:,|$)/i;

function directive(name: string): RegExp {
  return new RegExp(`(?:^|,)\\s*${name}\\s*(?:,|$)`, 'i');
}

/** What a client's Cache-Control asks for (RFC 9111, section 5.2.1). Other directives say nothing to this cache. */
function directivesIn(header: string | readonly string[] | undefined) {
  const text = String(header ?? '').slice(0, MAX_DIRECTIVES);
  const seconds = MAX_AGE.exec(text)?.[1];
  const maxAge = seconds === undefined ? Infinity : Number(seconds) * 1000;
  const isAsked = NO_CACHE.test(text) || maxAge === 0;
  return { maxAge: isAsked ? null : maxAge, isStored: !NO_STORE.test(text) };
}
