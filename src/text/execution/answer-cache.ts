import { parseDuration } from '../../config/fields/units.ts';
import { CachedRequest, type CacheResult } from '../../exchanges/cache/cached-request.ts';
import type { ExactCache } from '../../exchanges/cache/exact-cache.ts';
import type { RecordedAnswer } from '../../exchanges/exchange.ts';
import { tryParseJson } from '../../schema/json.ts';
import { isObject, objectOf } from '../../schema/untrusted.ts';
import type { KeyHolder } from '../../store/store.ts';
import type { Upstream } from '../../upstream/response.ts';
import type { TextReport } from '../canonical/report.ts';
import type { Dialect, Headers } from '../dialects/dialect.ts';
import { dialectNamed } from '../dialects/registry.ts';
import { EventStream } from '../relay/sse.ts';
import { isEventStream } from '../relay/upstream-response.ts';
import type { TextExecution } from './execution.ts';

/** The header that says whether an answer came from the exact cache. */
export const CACHE_HEADER = 'x-oriel-cache';

/** Characters of a client's Cache-Control that are read. */
const MAX_DIRECTIVES = 1000;

/** Features that change neither what is stored nor what an answer depends on. */
const HARMLESS: ReadonlySet<string> = new Set(['betas', 'routing', 'service_tier', 'unknown']);

/** Ends of answers that equal requests may get again. */
const KEPT_ENDS: ReadonlySet<string> = new Set(['length', 'stop', 'tool-calls']);

/** Signs of a refusal in one of several answers, of which decoders read the first. */
const ANY_REFUSAL = /"finish_reason"\s*:\s*"content_filter"|"refusal"\s*:\s*"/;

interface CacheOptions {
  readonly cache: ExactCache;
  readonly holder: KeyHolder;
  readonly headers: Headers;
  /** The model's public identifier, and its settings. */
  readonly id: string;
  readonly model: { readonly cache?: { readonly ttl: number } | undefined };
  readonly isCacheable: boolean;
  readonly report: TextReport;
}

/**
 * The exact cache for one client's request; null where neither its model nor its key has one.
 *
 * @param onResult called with the result whenever it changes
 */
export function openCache(
  { cache, holder: { key, account }, headers, id, model, isCacheable, report }: CacheOptions,
  onResult?: (result: CacheResult) => void,
): CachedRequest | null {
  const ttl = key.cache === undefined ? (model.cache?.ttl ?? 0) : (parseDuration(key.cache) ?? 0);
  if (ttl === 0) return null;
  const { maxAge, isStored } = directivesIn(headers['cache-control']);
  const policy = { accountId: account.id, model: id, ttl, maxAge };
  return new CachedRequest(cache, isCacheable && isStored ? policy : null, (result) => {
    report.cache = result;
    onResult?.(result);
  });
}

/** The exact cache for a request for text. */
export function textCacheOf(execution: TextExecution, cache: ExactCache): CachedRequest | null {
  const { call, model, modelId: id, inspection } = execution;
  const { holder, headers, report, response } = call;
  const isCacheable =
    objectOf(call.body)['store'] !== true &&
    inspection.uses.every(({ feature }) => HARMLESS.has(feature));
  return openCache({ cache, holder, headers, id, model, isCacheable, report }, (result) =>
    response.setHeader(CACHE_HEADER, result),
  );
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

/** The way to a provider for one of the answers to a request. */
export function upstreamFor(
  { upstream, request, cache, tracker, keeping }: TextExecution,
  dialectName: Dialect['name'],
  body: Readonly<Record<string, unknown>>,
  choice: number,
): Upstream {
  const dialect = dialectNamed(dialectName);
  // The provider or Oriel stores the answer by the provider's identifier, and the next request may refer to it.
  const isStored =
    dialect.storedIds !== undefined && (keeping?.isStored || body['store'] !== false);
  if (cache === null || isStored) return upstream;
  const isSeveral = (request.n ?? 1) > 1;
  const isKept = (answer: RecordedAnswer) => isWhole(answer, dialect, isSeveral);
  return cache.through({ choice, isKept, onLookup: (isHit) => tracker.lookedUp(isHit, choice) });
}

/** Whether an answer has a regular end, and neither refuses nor fails. */
function isWhole(answer: RecordedAnswer, dialect: Dialect, isSeveral: boolean): boolean {
  const context = { provider: '', toolName: (name: string) => name };
  let isKept = false;
  let isRefused = false;
  const decoder = dialect.decodeEvents(context, (event) => {
    isRefused ||= event.type === 'refusal-start' || event.type === 'error';
    if (event.type === 'finish') isKept = KEPT_ENDS.has(event.reason);
  });
  const body = Buffer.concat(answer.chunks);
  if (isSeveral && ANY_REFUSAL.test(body.toString())) return false;
  try {
    if (isEventStream(answer)) {
      const events = new EventStream((data) => decoder.push(data));
      events.push(body);
      events.end();
      decoder.end();
    } else {
      const json = tryParseJson(body.toString());
      if (!isObject(json)) return false;
      decoder.whole(json);
    }
  } catch {
    return false;
  }
  return isKept && !isRefused;
}
