import type { Failure } from '../failure.ts';
import { sliced } from '../flow.ts';
import { RouteAffinity } from '../routing/affinity.ts';
import { Routing } from '../routing/routing.ts';
import type { LightAbortSignal } from '../upstream/abort-signal.ts';
import type { TextObserver } from './billing/charge-report.ts';
import './built-in-dialects.ts';
import type { TextCall } from './execution/execution.ts';
import { TextExecution } from './execution/execution.ts';
import { insertFiles } from './execution/insert-files.ts';
import { Drains } from './relay/drains.ts';
import { applyModelRules } from './stages/apply-model-rules.ts';
import { askRoutes } from './stages/ask-routes.ts';
import { chargeAnswer } from './stages/charge-answer.ts';
import { decodeRequest } from './stages/decode-request.ts';
import { endAnswer } from './stages/end-answer.ts';
import { ignoreUnknownFields } from './stages/ignore-unknown-fields.ts';
import { inspectRequest } from './stages/inspect-request.ts';
import { leaveOutHostedTools } from './stages/leave-out-hosted-tools.ts';
import { leaveOutReferences } from './stages/leave-out-references.ts';
import { reserveCredits } from './stages/reserve-credits.ts';
import { restoreHistory } from './stages/restore-history.ts';
import { screenPrompt } from './stages/screen-prompt.ts';
import type { GatewayServices, Stage, TextGatewayOptions } from './stages/stage.ts';
import { storeAnswer } from './stages/store-answer.ts';
import { warmUp } from './stages/warm-up.ts';

const SPENDING: ReadonlySet<Stage> = new Set([reserveCredits, askRoutes, chargeAnswer]);

/** The stages of every request, in order. */
const STAGES: readonly Stage[] = [
  decodeRequest,
  restoreHistory,
  screenPrompt,
  inspectRequest,
  leaveOutReferences,
  ignoreUnknownFields,
  leaveOutHostedTools,
  applyModelRules,
  reserveCredits,
  askRoutes,
  storeAnswer,
  chargeAnswer,
  endAnswer,
];

/** The stages of a request that is only prepared: no provider is asked, and nothing is charged. */
const WARM_UP_STAGES = STAGES.filter((stage) => !SPENDING.has(stage)).toSpliced(-2, 0, warmUp);

/** Milliseconds after which a large request gives way to others. */
const MAX_HOLD_MS = 10;

/** Milliseconds for aborted answers to be charged. */
const closeTimeoutMs = 1000;

/** Answers requests for text by the routes of their models. */
export class TextGateway {
  readonly routing: Routing;
  readonly #services: GatewayServices;
  readonly #open = new Set<LightAbortSignal>();
  readonly #drains = new Drains();
  #onLast: () => void = () => {};

  constructor(options: TextGatewayOptions) {
    const { config, observer } = options;
    this.routing = new Routing(config, observer);
    this.#services = {
      ...options,
      routing: this.routing,
      affinity: new RouteAffinity(() => config().routing.affinity),
      drains: this.#drains,
      open: this.#open,
      rebuilt: { bytes: 0 },
    };
  }

  /**
   * Answers one request.
   *
   * @returns the whole answer as JSON; null where it was streamed to the response, which the caller then
   *   closes, whether the stream ended well or reports a failure
   * @throws Failure where the client was sent nothing yet
   */
  async answer(asked: TextCall): Promise<string | null> {
    const { config, files, activity } = this.#services;
    return activity.during(asked.isBackground, async () => {
      const { call, release } = await insertFiles(asked, files, () => config().server.bodyLimit);
      return this.#answer(call).finally(release);
    });
  }

  async #answer(call: TextCall): Promise<string | null> {
    const { config, upstream } = this.#services;
    const execution = new TextExecution(call, config(), call.batched?.upstream ?? upstream);
    const giveWay = sliced(MAX_HOLD_MS);
    try {
      for (const stage of call.isWarmUp ? WARM_UP_STAGES : STAGES) {
        // Gives the event loop to other requests. No more often: each large request that waits here holds its
        // parsed body, and many that take turns would fill the memory.
        if (execution.isLarge) await giveWay();
        const running = stage(execution, this.#services);
        if (running !== undefined) await running;
      }
      return execution.outcome?.body ?? null;
    } finally {
      endCache(execution, this.#services.observer);
      execution.drain?.release();
      execution.onEnd();
      if (this.#open.delete(call.clientDisconnect) && this.#open.size === 0) this.#onLast();
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
}

/** Keeps the answers of providers that ended well. */
function endCache({ call, outcome, cache, modelId }: TextExecution, observer: TextObserver): void {
  if (cache === null) return;
  const failure = outcome === null ? 'failed' : outcome.failure;
  if (failure === null) cache.end('answered');
  else cache.end(call.clientDisconnect.aborted ? 'abandoned' : 'failed');
  observer.cached(modelId, call.report.cache!);
}
