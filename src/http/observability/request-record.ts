import type { FastifyRequest } from 'fastify';
import type { Config } from '../../config/settings/schema.ts';
import { secretsRedactor } from '../../routing/redaction.ts';
import { toCredits } from '../../store/credits.ts';
import type { NewRequest, RequestAttempt, RequestRecord } from '../../store/requests/record.ts';
import type { RequestLog } from '../../store/requests/request-log.ts';
import type { KeyHolder } from '../../store/store.ts';
import { type AnswerCopy, bodiesOf } from './request-bodies.ts';
import type { RequestSeries } from './request-series.ts';

/** A request over HTTP, or of a batch. */
type Recorded = Pick<FastifyRequest, 'id' | 'body' | 'holder' | 'tags' | 'textReport' | 'failure'> &
  Partial<Pick<FastifyRequest, 'method' | 'params' | 'firstFrameMs' | 'task' | 'trace'>> & {
    readonly answerCopy: Pick<AnswerCopy, 'text'> | null;
  };

/** How a request ended. */
interface RequestEnd {
  /** The route's pattern. */
  readonly route: string;
  readonly status: number;
  /** Milliseconds since its arrival. */
  readonly elapsed: number;
}

/** Characters of a model's name, and of a failure's message, which may quote the request. */
const MAX_TEXT = 200;

/** Characters of a provider's message. */
const MAX_MESSAGE = 500;

/** Attempts of one request that are kept. */
const MAX_ATTEMPTS = 50;

const NONE: RequestRecord['timeline'] = [];

function textIn(object: unknown, name: string): string | null {
  const text = (object as Readonly<Record<string, unknown>> | null | undefined)?.[name];
  return typeof text === 'string' ? text.slice(0, MAX_TEXT) : null;
}

type RecordSettings = Pick<Config, 'providers' | 'requests' | 'models'>;

/** The record of a request that has ended now. */
function recordOf(
  request: Recorded,
  { route, status, elapsed }: RequestEnd,
  config: RecordSettings,
): NewRequest {
  const { id, method = 'POST', failure: refusal, textReport: report, task } = request;
  const { firstFrameMs = null, body, answerCopy, tags, trace } = request;
  // There is none without a valid key.
  const holder: KeyHolder | null = request.holder;
  const failure = refusal ?? report?.failure ?? null;
  const model = report?.model ?? task?.model ?? null;
  const named = textIn(request.params, 'model') ?? textIn(request.body, 'model');
  const usage = report?.usage ?? null;
  const isFailed = status >= 400 || failure !== null;
  const now = Date.now();
  const timeline = report === null ? NONE : attemptsOf(report.attemptLog.ended, elapsed, config);
  const bodies = holder ? bodiesOf({ body, answerCopy, holder, model, isFailed }, config) : null;
  const record: RequestRecord = {
    number: 0,
    object: 'request',
    id,
    ended: Math.floor(now / 1000),
    ended_ms: now,
    method,
    route,
    status,
    error: failure && {
      type: failure.type,
      code: failure.code,
      message: failure.message.slice(0, MAX_TEXT),
    },
    account: holder ? { id: holder.account.id, name: holder.account.name } : null,
    key: holder ? { id: holder.key.id, name: holder.key.name } : null,
    model,
    named_model: named === model ? null : named,
    task_id: task?.id ?? null,
    trace_id: trace?.context.traceId ?? null,
    provider: report?.provider ?? null,
    upstream_model: report?.upstreamModel ?? null,
    attempts: report?.attempts ?? 0,
    timeline,
    latency_ms: Math.round(elapsed),
    first_token_ms: firstFrameMs === null ? null : Math.round(firstFrameMs),
    input_tokens: usage?.input ?? null,
    cached_input_tokens: usage?.cachedInput ?? null,
    output_tokens: usage?.output ?? null,
    credits: report === null ? null : toCredits(report.charge),
    cache: report?.cache ?? null,
    tags,
    has_bodies: bodies !== null,
  };
  return { record, bodies };
}

type EndedAttempts = NonNullable<FastifyRequest['textReport']>['attemptLog']['ended'];

function attemptsOf(
  ended: EndedAttempts,
  elapsed: number,
  { providers }: Pick<Config, 'providers'>,
): readonly RequestAttempt[] {
  const arrival = performance.now() - elapsed;
  const kept = ended.length > MAX_ATTEMPTS ? ended.slice(0, MAX_ATTEMPTS) : ended;
  return kept.map(({ provider, model, key, startedAt, endedAt, failure }) => {
    const message = failure && (failure.detail ?? failure.message);
    return {
      provider,
      model,
      key,
      start_ms: Math.max(0, Math.round(startedAt - arrival)),
      latency_ms: Math.round(endedAt - startedAt),
      status: failure === null ? 200 : failure.upstreamStatus,
      error: failure && (failure.code ?? failure.type),
      message:
        message &&
        secretsRedactor(providers)(message.slice(0, 4 * MAX_MESSAGE)).slice(0, MAX_MESSAGE),
    };
  });
}

/** Records of requests without a valid key in a minute: strangers must not fill the disk. */
const MAX_STRANGERS = 120;
const MINUTE_MS = 60_000;

/** A function that adds requests to the log, and to the series of the last day. */
export function requestRecorder(
  settings: { readonly config: RecordSettings },
  log: Pick<RequestLog, 'add'>,
  series: RequestSeries,
): (request: Recorded, end: RequestEnd) => void {
  let minute = 0;
  let strangers = 0;
  const admitsStranger = () => {
    const now = Math.floor(performance.now() / MINUTE_MS);
    if (now !== minute) strangers = 0;
    minute = now;
    strangers += 1;
    return strangers <= MAX_STRANGERS;
  };
  return (request, end) => {
    if (!request.holder && !admitsStranger()) return;
    const added = recordOf(request, end, settings.config);
    series.addRecord(added.record);
    log.add(added);
  };
}
