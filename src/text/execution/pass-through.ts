import { Failure } from '../../failure.ts';
import { type ProviderOrigin, redactForClient, redactKeyInBody } from '../../routing/redaction.ts';
import { upstreamFailure } from '../../routing/upstream-failure.ts';
import { isObject } from '../../schema/untrusted.ts';
import type { UpstreamResponse } from '../../upstream/response.ts';
import type { Json, Part, RequestSetting, TextRequest } from '../canonical/canonical.ts';
import type { Dialect, Target } from '../dialects/dialect.ts';
import { dialectNamed } from '../dialects/registry.ts';
import { propertiesOf } from '../dialects/request-settings.ts';
import { hasLongNames } from '../dialects/tool-names.ts';
import { renameModel } from '../relay/model-name.ts';
import { Relay, recordAnswer } from '../relay/relay.ts';
import { isEventStream, observeWhole, readJson } from '../relay/upstream-response.ts';
import { compactionRequest } from '../stored/compaction.ts';
import { collectAnswers, readAnswer } from './collect-answers.ts';
import { announceOmitted, type Outcome, type TextExecution } from './execution.ts';
import { openUpstream, type RemoteRoute } from './upstream-request.ts';

/** Whether the upstream can be sent the very body that the client sent. */
export function canPass(request: TextRequest, target: Pick<Target, 'dialect'>): boolean {
  if (request.dialect !== target.dialect || request.hasFunctions) return false;
  if (hasLongNames(request)) return false;
  return !request.turns.some(({ parts }) => parts.some((part) => isForeign(part, target)));
}

/**
 * Whether an upstream did not write a part of the conversation itself. A wrapped signature is another
 * provider's. Reasoning without a signature comes from the sandbox or from an upstream of a dialect
 * that has none.
 */
function isForeign(part: Part, { dialect }: Pick<Target, 'dialect'>): boolean {
  if (part.type !== 'reasoning') return false;
  if (part.signature === null) return !dialectNamed(dialect).reasoning.isUnsigned;
  return part.signature.provider !== null;
}

/** The client's own body with the upstream's model name and the settings that rules changed. */
function passBody(
  request: TextRequest,
  target: Target,
  changedSettings: readonly RequestSetting[],
): Json {
  const dialect = dialectNamed(target.dialect);
  const body = dialect.forwardBody(request, target);
  if (changedSettings.length > 0) {
    const encoded = dialect.encodeRequest(request, target);
    for (const property of changedSettings.flatMap((one) => propertiesOf(dialect.settings, one))) {
      if (encoded[property] === undefined) delete body[property];
      else body[property] = encoded[property];
    }
  }
  const { maxOutputTokens } = request;
  if (maxOutputTokens !== null) {
    const names = propertiesOf(dialect.settings, 'maxOutputTokens');
    const isGiven = names.some((name) => body[name] !== undefined && body[name] !== null);
    if (!isGiven) body[names[0]!] = maxOutputTokens;
  }
  return body;
}

/** Sends the client's own body, and passes the upstream's response on as it comes. */
export async function passThrough(execution: TextExecution, route: RemoteRoute): Promise<Outcome> {
  const { call, request, model, changedSettings, tracker, drain, allowance, inspection } =
    execution;
  const { provider, target, origin } = route;
  allowance.check(inspection, provider.shared !== false);
  const body = passBody(request, target, changedSettings);
  announceOmitted(execution);
  tracker.addRequest();
  const exchange = await openUpstream(execution, route, {
    body: call.isCompaction ? compactionRequest(body) : body,
    stream: request.stream,
    signal: drain.signal,
  });
  // Of several answers the decoders read one, and identifiers of stored objects are those of the provider.
  const isNormalised =
    model.normalize === true &&
    (request.n ?? 1) === 1 &&
    dialectNamed(target.dialect).storedIds === undefined;
  if (isNormalised || isEventStream(exchange) !== request.stream) {
    // Some upstreams stream where no stream was requested, and some do not where one was.
    tracker.reset();
    return collectAnswers(execution, 1, origin, (sink) =>
      readAnswer(execution, exchange, { target, origin, sink, choice: 0 }),
    );
  }
  // Awaited, since a promise that an async function returns takes three more turns of the microtask queue.
  return await (request.stream
    ? relayStream(execution, route, exchange)
    : passWhole(execution, route, exchange));
}

async function passWhole(
  execution: TextExecution,
  { provider, target, origin }: RemoteRoute,
  exchange: UpstreamResponse,
): Promise<Outcome> {
  const { call, tracker, publicModel } = execution;
  const { trace } = call.report;
  const dialect = dialectNamed(target.dialect);
  const { usage, body } = observeWhole(dialect, await readJson(exchange));
  if (trace !== null) recordAnswer(trace, dialect, body);
  if (usage) tracker.reportUsage(usage);
  // Without a count of the provider's the output is counted.
  if (!usage?.output) {
    const context = { provider: target.provider, toolName: String };
    dialect.decodeEvents(context, (event) => tracker.addEvent(event, 0)).whole(body);
  }
  tracker.finishAnswer();
  if (publicModel !== null) renameModel(body, dialect.modelPaths, publicModel);
  reportStored(execution, dialect, body);
  const { error } = body;
  const clear = error ? { ...body, error: errorForClient(error, origin) } : body;
  return { body: redactKeyInBody(JSON.stringify(clear), provider.apiKey), end: '', failure: null };
}

async function relayStream(
  execution: TextExecution,
  { provider, target, origin }: RemoteRoute,
  exchange: UpstreamResponse,
): Promise<Outcome> {
  const { call, context, tracker, publicModel, drain } = execution;
  const dialect = dialectNamed(target.dialect);
  const response = execution.openStream(provider.apiKey, dialect);
  const relay = new Relay({
    dialect,
    context,
    model: publicModel,
    response,
    drain,
    tracker,
    trace: call.report.trace,
    onAnswer: (answer) => reportStored(execution, dialect, answer),
    clean: (failure) => redactForClient(failure, origin),
  });
  try {
    await relay.run(exchange);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    relay.fail(error);
  } finally {
    if (relay.failure) exchange.abort();
  }
  if (relay.failure && !relay.committed) throw relay.failure;
  return { body: null, end: response.last(relay.end), failure: relay.failure };
}

/** Reports the identifiers of what a provider stored, which the client may name in later requests. */
function reportStored({ request, onStored }: TextExecution, dialect: Dialect, answer: Json): void {
  const ids = dialect.storedIds?.(request, answer) ?? [];
  if (ids.length > 0) onStored(ids);
}

/** The `error` of a whole response with a status of its own, without the provider's name and address. */
function errorForClient(error: unknown, origin: ProviderOrigin): unknown {
  const { code, message } = redactForClient(upstreamFailure(null, { error }), origin);
  return isObject(error) ? { code: code ?? 'server_error', message } : message;
}
