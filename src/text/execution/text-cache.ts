import type { ExactCache } from '../../exchanges/cache/exact-cache.ts';
import type { RecordedAnswer } from '../../exchanges/exchange.ts';
import { tryParseJson } from '../../schema/json.ts';
import { isObject } from '../../schema/untrusted.ts';
import type { Upstream } from '../../upstream/response.ts';
import type { Dialect } from '../dialects/dialect.ts';
import { dialectNamed } from '../dialects/registry.ts';
import { EventStream } from '../relay/sse.ts';
import { isEventStream } from '../relay/upstream-response.ts';
import { type AnswerCache, CACHE_HEADER, openCache } from './answer-cache.ts';
import type { TextExecution } from './execution.ts';

/** Features that change neither what is stored nor what an answer depends on. */
const HARMLESS: ReadonlySet<string> = new Set(['betas', 'routing', 'service_tier', 'unknown']);

/** Ends of answers that equal requests may get again. */
const KEPT_ENDS: ReadonlySet<string> = new Set(['length', 'stop', 'tool-calls']);

/** Signs of a refusal in one of several answers, of which decoders read the first. */
const ANY_REFUSAL = /"finish_reason"\s*:\s*"content_filter"|"refusal"\s*:\s*"/;

/** The cache of a request for text. */
export function textCacheOf(execution: TextExecution, cache: ExactCache): AnswerCache | null {
  const { call, model, modelId, request, inspection } = execution;
  const { holder, headers, report, response } = call;
  const isStateless =
    request.body['store'] !== true && inspection.uses.every(({ feature }) => HARMLESS.has(feature));
  return openCache({
    ...{ cache, holder, headers, model, report },
    id: modelId,
    isCacheable: isStateless,
    onResult: (result) => response.setHeader(CACHE_HEADER, result),
  });
}

/** The way to a provider for one of the answers to a request. */
export function upstreamFor(
  { upstream, request, cache, tracker }: TextExecution,
  dialectName: Dialect['name'],
  body: Readonly<Record<string, unknown>>,
  choice: number,
): Upstream {
  const dialect = dialectNamed(dialectName);
  // The provider stores the answer, and the next request may refer to it.
  const isStored = dialect.storedIds !== undefined && body['store'] !== false;
  if (cache === null || isStored) return upstream;
  const isSeveral = (request.n ?? 1) > 1;
  const isKept = (answer: RecordedAnswer) => isWhole(answer, dialect, isSeveral);
  return cache.through(upstream, isKept, (isHit) => tracker.lookedUp(isHit, choice), choice);
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
