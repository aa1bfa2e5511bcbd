import { findModel, type TextModel } from '../config/catalog.ts';
import type { Config } from '../config/schema.ts';
import { Failure } from '../failure.ts';
import { type OnAttempt, Routing, routeCandidates } from '../routing/routing.ts';
import type { Store } from '../store/store.ts';
import type { AbortSignalLike, LightAbortSignal } from '../upstream/abort-signal.ts';
import type { UpstreamClient } from '../upstream/client.ts';
import { networkPolicyOf } from '../upstream/network-policy.ts';
import { Meter } from './billing/meter.ts';
import { UsageTracker } from './billing/usage-tracker.ts';
import type { TextCall } from './call.ts';
import type { TextRequest, Usage } from './canonical.ts';
import { DIALECTS } from './dialects/dialects.ts';
import { Inspection } from './dialects/inspection.ts';
import { invalid } from './dialects/request-errors.ts';
import { Attempt, type Outcome } from './execution/execution.ts';
import { dialectOf } from './execution/upstream-request.ts';
import { Allowance, checkAddresses, dropUnknown } from './policy/allowance.ts';
import { imagePromptOf } from './policy/image-prompt.ts';
import { applyRules } from './policy/rules.ts';
import { StoredIds } from './policy/stored-ids.ts';

/** Milliseconds for aborted answers to be charged. */
const CLOSING = 1000;

/** What a gateway tells of its work as it goes on. */
export interface TextObserver {
  readonly onAttempt: OnAttempt;
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
  /** As it is now. */
  readonly config: () => Config;
  readonly store: Store;
  readonly upstream: UpstreamClient;
  readonly observer: TextObserver;
  /**
   * Judges the words of a request whose answer may hold images.
   *
   * @param param the request's field that is refused
   * @throws Failure content_policy
   */
  readonly admitPrompt: (prompt: string, param: string, accountId: string) => Promise<void>;
}

/** Answers requests for text, by whichever route of their model is well. */
export class TextGateway {
  readonly #options: TextGatewayOptions;
  readonly #routing: Routing;
  readonly #open = new Set<LightAbortSignal>();
  readonly #given = new StoredIds();
  #onLast: () => void = () => {};

  constructor(options: TextGatewayOptions) {
    this.#options = options;
    const { config, observer } = options;
    this.#routing = new Routing(config, observer.onAttempt);
  }

  /**
   * Answers one request.
   *
   * @returns the whole answer as JSON; null where it was streamed to the response, which then is to be
   *   closed, whether all went well or the stream says that it did not
   * @throws Failure where the client has been told nothing yet
   */
  async answer(call: TextCall): Promise<string | null> {
    const config = this.#options.config();
    const { holder } = call;
    const asked = DIALECTS[call.dialect].decodeRequest(call.body);
    const id = asked.model;
    const model = findModel(config, id, holder.key.models);
    if (model.type !== 'text') {
      throw invalid(
        'model',
        `${id} is a model of type ${model.type}, not of text`,
        'wrong_model_type',
      );
    }
    const imagePrompt = imagePromptOf(
      asked,
      model.routes.map((route) => route.model),
    );
    if (imagePrompt !== null) {
      const param = asked.dialect === 'responses' ? 'input' : 'messages';
      await this.#options.admitPrompt(imagePrompt, param, holder.account.id);
    }
    const inspection = new Inspection();
    const allowed = [model.allow ?? [], holder.key.allow ?? []];
    const allowance = new Allowance(id, holder.account.id, this.#given, ...allowed);
    let dropped: readonly string[] = [];
    if (isRemote(model, config)) {
      DIALECTS[call.dialect].inspect(asked.body, inspection);
      checkAddresses(inspection, networkPolicyOf(config.network));
      if (!allowance.allows('unknown')) dropped = dropUnknown(inspection);
    }
    const { maxOutputTokens: defaultLimit, trustUpstream } = config.billing;
    const ruled = applyRules(asked, id, model, defaultLimit);
    const { store } = this.#options;
    const { request } = ruled;
    const bytes = call.bytes ?? Buffer.byteLength(JSON.stringify(call.body));
    const meter = await Meter.open(store, holder, {
      id,
      model,
      request,
      bytes,
      unseen: allowance.addsInput(inspection, isShared(model, config)),
      requests: requestsFor(request, model, config),
      defaultLimit,
      trustUpstream,
    });
    const tracker = new UsageTracker();
    this.#open.add(call.clientDisconnect);
    const signal: AbortSignalLike = call.clientDisconnect;
    const given = (ids: readonly string[]) => this.#given.add(holder.account.id, ids);
    const attempt = new Attempt(
      { call, inspection, allowance, dropped, given, ruled, model, config, tracker, signal },
      this.#options.upstream,
    );
    const deadline = performance.now() + config.routing.timeouts.total;
    try {
      const outcome = await this.#routing.run({
        model: id,
        logContext: { requestId: call.requestId },
        candidates: routeCandidates(model),
        signal,
        deadline,
        attempt: ({ route }) => attempt.run(route, deadline - performance.now()),
        failureOf: ({ failure }: Outcome) => failure,
        onAttemptFailed: () => tracker.forget(),
      });
      await this.#settle(meter, tracker, call.requestId, id);
      if (outcome.end !== '') call.response.write(outcome.end);
      return outcome.body;
    } catch (error) {
      // What a client did not wait for, or cannot be told, has been worked on all the same.
      const worked =
        signal.aborted || (error instanceof Failure && error.type === 'billable_error');
      if (worked) await this.#settle(meter, tracker, call.requestId, id);
      else await meter.release();
      if (!call.response.begun || !(error instanceof Failure)) throw error;
      // The client has been kept waiting by comments: it can only be told inside the stream.
      const encoder = DIALECTS[call.dialect].encodeEvents(attempt.context);
      call.response.write(encoder.push({ type: 'error', failure: error }));
      return null;
    } finally {
      this.#open.delete(call.clientDisconnect);
      if (this.#open.size === 0) this.#onLast();
    }
  }

  /**
   * Ends every answer under way: streams say that they were cut short. Resolves when all are charged
   * and have said so, or after a second.
   */
  close(reason: Failure): Promise<void> {
    return new Promise((resolve) => {
      this.#onLast = resolve;
      setTimeout(resolve, CLOSING).unref();
      for (const controller of this.#open) controller.abort(reason);
      if (this.#open.size === 0) resolve();
    });
  }

  async #settle(
    meter: Meter,
    tracker: UsageTracker,
    requestId: string,
    model: string,
  ): Promise<void> {
    const { observer } = this.#options;
    const { used, excess } = await meter.settle(tracker.total(), tracker.seen());
    observer.used(model, used);
    if (excess) observer.exceeded({ requestId, model, reported: excess, charged: used });
  }
}

/** Whether a request may leave this server. */
function isRemote({ routes }: TextModel, { providers }: Config): boolean {
  return routes.some(({ provider }) => providers[provider]!.kind !== 'sandbox');
}

/** Whether every provider of a model serves several clients from one account. */
function isShared({ routes }: TextModel, { providers }: Config): boolean {
  return routes.every(({ provider: name }) => {
    const provider = providers[name]!;
    return provider.kind === 'sandbox' || provider.shared !== false;
  });
}

/** Requests to a provider that answer one: each of the `n` answers is its own to another dialect. */
function requestsFor({ n, dialect }: TextRequest, model: TextModel, { providers }: Config): number {
  if (n === null || n === 1) return 1;
  const isPassed = model.routes.every((route) => {
    const provider = providers[route.provider]!;
    return provider.kind !== 'sandbox' && dialectOf(route, provider, dialect) === dialect;
  });
  return isPassed ? 1 : n;
}
