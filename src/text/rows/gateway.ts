import { upstreamModelOf } from '../../config/catalog/model-names.ts';
import { isRemote, type RemoteProvider } from '../../config/providers/provider-kinds.ts';
import { Failure } from '../../failure.ts';
import { openProvider } from '../../routing/provider-request.ts';
import { redactKeyInBody } from '../../routing/redaction.ts';
import { longestTotal, timeoutsUntil } from '../../routing/retry-policy.ts';
import { unknownToProvider } from '../../routing/route-candidates.ts';
import { Routing } from '../../routing/routing.ts';
import { reportCharge } from '../billing/charge-report.ts';
import { openCache } from '../execution/answer-cache.ts';
import { pathsHeader, type TextCall } from '../execution/execution.ts';
import { findModelOfType } from '../execution/model-routes.ts';
import { readJson } from '../relay/upstream-response.ts';
import type { TextGatewayOptions } from '../stages/stage.ts';
import { reserveForRow } from './meter.ts';
import type { Row, RowAnswer, RowModel, RowRequest } from './row.ts';

/** One request of one client. */
type RowCall = Pick<
  TextCall,
  'requestId' | 'body' | 'headers' | 'holder' | 'report' | 'admit' | 'ledger' | 'isBackground'
> & {
  /** Aborts when the client disconnects; the reason is a Failure. */
  readonly signal: AbortSignal;
  /** Called with the header of fields that were not sent; null for none. */
  readonly onIgnored?: (paths: string | null) => void;
};

/** Answers requests of all rows by the routes of their models. */
export class RowGateway {
  readonly #options: Omit<TextGatewayOptions, 'admitPrompt' | 'files'>;
  readonly routing: Routing;

  constructor(options: Omit<TextGatewayOptions, 'admitPrompt' | 'files'>) {
    this.#options = options;
    this.routing = new Routing(options.config, options.observer);
  }

  /** @returns the response as JSON */
  answer<Request extends RowRequest, Answer extends RowAnswer>(
    row: Row<Request, Answer>,
    call: RowCall,
  ): Promise<string> {
    return this.#options.activity.during(call.isBackground, () => this.#answer(row, call));
  }

  async #answer<Request extends RowRequest, Answer extends RowAnswer>(
    row: Row<Request, Answer>,
    call: RowCall,
  ): Promise<string> {
    const { requestId, body, headers, holder, report, signal } = call;
    const { store, upstream, observer } = this.#options;
    const config = this.#options.config();
    const request = row.decode(body);
    const { id, part, model } = findModelOfType(row.type, request.model, config, holder);
    report.model = id;
    const estimates = row.estimate(request, model);
    await call.admit?.({ input: estimates.tokens.likely, output: 0 });
    const meter = await reserveForRow(call.ledger ?? store, holder, {
      id,
      price: model.price,
      estimates,
      tags: report.tags,
      trustUpstream: config.billing.trustUpstream,
    });
    const settle = async (answer: RowAnswer | null) => {
      const charge = await meter.settle(answer, isHit());
      reportCharge(charge, { report, requestId }, observer);
      return { tokens: charge.used.input, searches: charge.searches };
    };
    const deadline = performance.now() + longestTotal(config, model.routes);
    const own = { holder, headers, id, model, report, isCacheable: true };
    const cache = openCache({ cache: this.#options.cache, ...own });
    let secret: string | undefined;
    const isHit = () => report.cache === 'hit';
    const through = cache?.through({ isKept: () => true }) ?? upstream;
    const nameRoute = (route: RowModel['routes'][number]) => {
      report.provider = route.provider;
      report.upstreamModel = upstreamModelOf(route, part);
      return report.upstreamModel;
    };
    const nameIgnored = (ignored: readonly string[]) =>
      call.onIgnored?.(ignored.length > 0 ? pathsHeader(ignored) : null);
    const ask = (route: RowModel['routes'][number], provider: RemoteProvider) => {
      const upstreamModel = nameRoute(route);
      secret = provider.apiKey;
      const format = row.formatOf(route, provider);
      nameIgnored(format.ignored?.(request) ?? []);
      return openProvider(through, provider, {
        path: format.path(upstreamModel),
        model: upstreamModel,
        traceparent: report.trace?.traceparent,
        json: format.body(request, upstreamModel),
        timeouts: timeoutsUntil(deadline, config, provider),
        signal,
      }).then(async (exchange) => format.read(request, await readJson(exchange, row.parse)));
    };
    let answer: Answer;
    try {
      answer = await this.routing.run({
        model: id,
        accountId: holder.account.id,
        logContext: { requestId },
        trace: report.attemptLog,
        candidates: this.routing.candidatesOf(model, part),
        providers: config.providers,
        signal,
        deadline,
        attempt: async ({ route }, provider) => {
          if (isRemote(provider)) return ask(route, provider);
          nameIgnored(Object.keys(request.unknown ?? {}));
          return row.answerBySandbox(request, { model: nameRoute(route), deadline, signal });
        },
        isReplayed: isHit,
        async replay({ route }, provider) {
          if (!cache || !isRemote(provider)) return null;
          return cache.replay(signal, () => ask(route, provider));
        },
      });
      cache?.end('answered');
    } catch (error) {
      cache?.end(signal.aborted ? 'abandoned' : 'failed');
      // The provider has worked for a client that left, and charges for it.
      const isCharged =
        signal.aborted || (error instanceof Failure && error.type === 'billable_error');
      if (isCharged) await settle(null);
      else await meter.release();
      throw part === null ? error : unknownToProvider(error, id, request.model);
    } finally {
      if (report.cache !== null) observer.cached(id, report.cache);
    }
    const used = await settle(answer);
    const isPublic = config.answers.model === 'public' || answer.model === null;
    const name = isPublic ? request.model : answer.model!;
    return redactKeyInBody(await row.write(answer, request, name, used), secret);
  }
}
