import { setImmediate } from 'node:timers/promises';
import { findModel, isPriced } from '../config/catalog.ts';
import { upstreamModelOf } from '../config/model-names.ts';
import { isRemote } from '../config/provider-kinds.ts';
import type { Config } from '../config/schema.ts';
import { Failure } from '../failure.ts';
import { RouteAffinity } from '../routing/affinity.ts';
import type { RoutingObserver } from '../routing/observer.ts';
import { longestTotal } from '../routing/retry-policy.ts';
import { routeCandidates, unknownToProvider } from '../routing/route-candidates.ts';
import { Routing } from '../routing/routing.ts';
import type { Store } from '../store/store.ts';
import type { LightAbortSignal } from '../upstream/abort-signal.ts';
import type { UpstreamClient } from '../upstream/client.ts';
import { networkPolicyOf } from '../upstream/network-policy.ts';
import { Meter } from './billing/meter.ts';
import { UsageTracker } from './billing/usage-tracker.ts';
import type { Usage } from './canonical/canonical.ts';
import type { TextCall } from './execution/call.ts';
import './built-in-dialects.ts';
import { Inspection } from './dialects/inspection.ts';
import { dialectNamed } from './dialects/registry.ts';
import { invalid } from './dialects/request-errors.ts';
import { checkAllowedTools } from './emulation/allowed-tools.ts';
import {
  Answers,
  forwardedHeaders,
  type Outcome,
  type TextExecution,
} from './execution/execution.ts';
import {
  hasRouteOf,
  isShared,
  mayLeaveServer,
  upstreamRequestsFor,
} from './execution/model-routes.ts';
import { runRoute } from './execution/run-route.ts';
import { Allowance, checkAddresses } from './policy/allowance.ts';
import { conversationOf } from './policy/conversation.ts';
import { HostedTools } from './policy/hosted-tools.ts';
import { imagePromptOf } from './policy/image-prompt.ts';
import type { OmittedFields } from './policy/omitted-fields.ts';
import { withoutUnvouched } from './policy/references.ts';
import { applyRules } from './policy/rules.ts';
import { removeUnknown } from './policy/unknown-fields.ts';
import { Drains } from './relay/drains.ts';

/** Milliseconds for aborted answers to be charged. */
const closeTimeoutMs = 1000;

/** Bytes of a request from which each stage of it takes the event loop for long: 1 MB of short turns takes 0.2 s in all. */
const LARGE_REQUEST = 128 * 1024;

/** Gives the event loop to other requests between two stages of a large one. */
async function betweenStages({ bytes }: TextCall): Promise<void> {
  if (bytes === null || bytes > LARGE_REQUEST) await setImmediate();
}

/** Events of a gateway, for metrics and the log. */
export interface TextObserver extends RoutingObserver {
  /** A request was charged. */
  used(model: string, usage: Usage): void;
  /** A provider reported more usage than the request allowed; the excess was not charged. */
  exceeded(excess: ExceededUsage): void;
}

export interface ExceededUsage {
  readonly requestId: string;
  readonly model: string;
  readonly reported: Usage;
  readonly charged: Usage;
}

export interface TextGatewayOptions {
  /** Returns the configuration in force. */
  readonly config: () => Config;
  readonly store: Store;
  readonly upstream: UpstreamClient;
  readonly observer: TextObserver;
  /**
   * Checks the words of a request whose answer may hold images.
   *
   * @param param the request's field that the failure names
   * @throws Failure content_policy
   */
  readonly admitPrompt: (prompt: string, param: string, accountId: string) => Promise<void>;
}

/** Answers requests for text by the routes of their models. */
export class TextGateway {
  readonly #options: TextGatewayOptions;
  readonly routing: Routing;
  readonly #affinity: RouteAffinity;
  readonly #open = new Set<LightAbortSignal>();
  readonly #drains = new Drains();
  #onLast: () => void = () => {};

  constructor(options: TextGatewayOptions) {
    this.#options = options;
    const { config, observer } = options;
    this.routing = new Routing(config, observer);
    this.#affinity = new RouteAffinity(() => config().routing.affinity);
  }

  /**
   * Answers one request.
   *
   * @returns the whole answer as JSON; null where it was streamed to the response, which the caller then
   *   closes, whether the stream ended well or reports a failure
   * @throws Failure where the client was sent nothing yet
   */
  async answer(call: TextCall): Promise<string | null> {
    const { store } = this.#options;
    const config = this.#options.config();
    const { holder, clientDisconnect, report } = call;
    const dialect = dialectNamed(call.dialect);
    await betweenStages(call);
    let decoded = dialect.decodeRequest(call.body, call.address);
    const name = decoded.model;
    const { id, part, model } = findModel(config, name, holder.key.models);
    report.model = id;
    if (model.type !== 'text') {
      throw invalid(
        'model',
        `${name} is a model of type ${model.type}, not of text`,
        'wrong_model_type',
      );
    }
    const imagePrompt = imagePromptOf(
      decoded,
      model.routes.map((route) => upstreamModelOf(route, part)),
    );
    if (imagePrompt !== null) {
      await this.#options.admitPrompt(imagePrompt, dialect.promptField, holder.account.id);
    }
    await betweenStages(call);
    let inspection = new Inspection();
    const allowance = new Allowance(id, model, holder);
    let omitted: OmittedFields = { ignored: [], dropped: [] };
    dialect.fields.check(decoded.body, inspection, decoded.body);
    if (mayLeaveServer(model, config)) {
      checkAddresses(inspection, networkPolicyOf(config.network));
      const references = allowance.referencesIn(inspection);
      if (references.length > 0) {
        allowance.permitReferences(await store.findProviderObjects(holder.account.id, references));
        const left = withoutUnvouched(decoded, inspection, allowance, isShared(model, config));
        if (left !== null) {
          decoded = dialect.decodeRequest(left.body, call.address);
          omitted = { ignored: left.removed, dropped: [] };
          inspection = new Inspection();
          dialect.fields.check(decoded.body, inspection, decoded.body);
        }
      }
    }
    if (!allowance.allows('unknown') || !hasRouteOf(call.dialect, model, config)) {
      const removed = removeUnknown(inspection, decoded.body, id, model);
      if (removed.length > 0) decoded = dialect.decodeRequest(decoded.body, call.address);
      omitted = { ignored: [...omitted.ignored, ...removed], dropped: [] };
    }
    checkAllowedTools(decoded);
    const hosted = HostedTools.of(decoded, inspection, model, id);
    if (hosted !== null) {
      const left = hosted.withoutForbidden(decoded, inspection, allowance);
      decoded = left.request;
      omitted = { ignored: [...omitted.ignored, ...left.ignored], dropped: left.dropped };
    }
    await betweenStages(call);
    const { maxOutputTokens: defaultLimit, trustUpstream } = config.billing;
    const { request, changedSettings, clamped } = applyRules(decoded, id, model, defaultLimit);
    if (clamped.length > 0) {
      omitted = { ignored: omitted.ignored, dropped: [...omitted.dropped, ...clamped] };
    }
    const meter = await Meter.open(store, holder, {
      id,
      model,
      request,
      bytes: call.bytes ?? Buffer.byteLength(JSON.stringify(call.body)),
      addsInput: allowance.addsInput(inspection, isShared(model, config)),
      requests: upstreamRequestsFor(request, model, config),
      defaultLimit,
      trustUpstream,
    });
    const tracker = new UsageTracker();
    let isSent = false;
    const drain = this.#drains.begin({
      accountId: holder.account.id,
      clientDisconnect,
      timeout: config.billing.drainTimeout,
      isWorthwhile: () => isSent && isPriced(model),
    });
    this.#open.add(clientDisconnect);
    // One literal: an object that is spread from another of this size is slow to make and to read (7 µs).
    const execution: TextExecution = {
      call,
      request,
      changedSettings,
      inspection,
      allowance,
      omitted,
      hosted,
      forwarded: forwardedHeaders(call, allowance),
      onStored: (ids) => store.addProviderObjects(holder.account.id, ids),
      model,
      wildcardPart: part,
      publicModel: config.answers.model === 'public' ? name : null,
      config,
      context: {
        request,
        created: Math.floor(Date.now() / 1000),
        estimatedUsage: (choice) => meter.estimateOf(choice, tracker.outputOf(choice)),
      },
      tracker,
      inputTokens: meter.inputTokens,
      cutUsage: meter.hasHiddenCost
        ? (choice) => meter.cutUsageOf(choice, tracker.outputOf(choice))
        : null,
      drain,
      answers: new Answers(),
      upstream: this.#options.upstream,
    };
    const deadline = performance.now() + longestTotal(config, model.routes);
    const candidates = routeCandidates(model);
    const conversation = candidates.length > 1 ? conversationOf(decoded, id, holder) : null;
    let answering = candidates[0]!;
    // For a client that has left, the routing throws its disconnect in place of what the attempt threw.
    let attemptError: unknown = null;
    /** Whether this server stopped reading before the provider's report. */
    const isCut = (failure: unknown) => {
      if (this.#drains.isClosed) return false;
      if (drain.signal.aborted) return true;
      // A client that stops reading stops the provider too.
      return (clientDisconnect.aborted || call.response.isBlocked) && isOwnTimeout(failure);
    };
    try {
      const outcome = await this.routing.run({
        model: id,
        accountId: holder.account.id,
        logContext: { requestId: call.requestId },
        trace: report.trace,
        candidates: conversation ? this.#affinity.order(candidates, conversation) : candidates,
        providers: config.providers,
        signal: clientDisconnect,
        deadline,
        attempt: async (candidate, provider) => {
          await betweenStages(call);
          answering = candidate;
          report.attempts += 1;
          isSent = isRemote(provider);
          report.provider = candidate.route.provider;
          report.upstreamModel = upstreamModelOf(candidate.route, part);
          try {
            const remaining = deadline - performance.now();
            return await runRoute(execution, candidate.route, provider, remaining);
          } catch (error) {
            attemptError = error;
            throw error;
          }
        },
        failureOf: ({ failure }: Outcome) => failure,
        onAttemptFailed: () => tracker.reset(),
        onNotSent: () => {
          report.attempts -= 1;
        },
      });
      if (conversation && outcome.failure === null) {
        this.#affinity.answered(answering, candidates, conversation);
      }
      report.failure = outcome.failure;
      await this.#settle(meter, tracker, call, isCut(outcome.failure));
      if (outcome.end !== '') call.response.write(outcome.end);
      return outcome.body;
    } catch (thrown) {
      const error = part === null ? thrown : unknownToProvider(thrown, id, name);
      // The provider may charge for an answer that cannot be sent, and for one that was aborted.
      const own = clientDisconnect.aborted ? attemptError : error;
      const isBillable = own instanceof Failure && own.type === 'billable_error';
      const cut = isCut(own);
      const isCharged = isBillable || cut || drain.signal.aborted;
      if (!isCharged) tracker.reset();
      if (isCharged || tracker.hasKept) await this.#settle(meter, tracker, call, cut);
      else await meter.release();
      if (!call.response.started || !(error instanceof Failure)) throw error;
      report.failure = error;
      // Keep-alive comments have started the stream, so that the failure is sent inside it.
      const encoder = dialect.encodeEvents(execution.context);
      call.response.write(encoder.push({ type: 'error', failure: error }));
      return null;
    } finally {
      drain.release();
      this.#open.delete(clientDisconnect);
      if (this.#open.size === 0) this.#onLast();
    }
  }

  /**
   * Ends every open answer: streams end with the failure. Resolves when all are charged and have sent it,
   * or after a second.
   */
  close(reason: Failure): Promise<void> {
    this.#drains.isClosed = true;
    return new Promise((resolve) => {
      this.#onLast = resolve;
      setTimeout(resolve, closeTimeoutMs).unref();
      for (const cancellation of this.#open) cancellation.abort(reason);
      if (this.#open.size === 0) resolve();
    });
  }

  async #settle(
    meter: Meter,
    tracker: UsageTracker,
    { report, requestId, onCharging }: TextCall,
    isCut: boolean,
  ): Promise<void> {
    const { observer } = this.#options;
    const settling = meter.settle(tracker.answers(), isCut);
    onCharging();
    const { used, charge, excess } = await settling;
    report.usage = used;
    report.charge = charge;
    const model = report.model!;
    observer.used(model, used);
    if (excess) observer.exceeded({ requestId, model, reported: excess, charged: used });
  }
}

/** Whether this server's own patience ended an answer, and not the provider. */
function isOwnTimeout(error: unknown): boolean {
  return error instanceof Failure && error.type === 'timeout' && error.detail === null;
}
