import {
  defaultOutputTokensOf,
  isPriced,
  reasoningOf,
  type TextModel,
} from '../../config/catalog/catalog.ts';
import type { Reservation } from '../../store/budgets.ts';
import type { KeyHolder, Store } from '../../store/store.ts';
import type { TextRequest } from '../canonical/canonical.ts';
import { NO_USAGE, type Usage } from '../canonical/events.ts';
import { sumOf } from '../dialects/usage.ts';
import { type Bounds, costOf, largestCost } from './cost.ts';
import { inputSizesOf, MAX_UNKNOWN_INPUT } from './input-size.ts';
import { inputPartsOf } from './usage.ts';
import type { ObservedAnswer } from './usage-tracker.ts';

/** The usage of one of the requests. */
interface RequestUsage {
  /** Which of the requests it is. */
  readonly index: number;
  readonly usage: Usage;
  readonly isHit: boolean;
}

/** The usages of the requests, each within the bounds of its input, and all within that of the output. */
function within(usages: readonly RequestUsage[], { inputs, output }: Bounds): readonly Usage[] {
  let left = output;
  return usages.map(({ index, usage }) => {
    const input = Math.min(usage.input, inputs[index] ?? 0);
    const charged = Math.min(usage.output, left);
    left -= charged;
    const isWithin = input === usage.input && charged === usage.output;
    return isWithin ? usage : { ...usage, input, output: charged };
  });
}

/** Estimate of the tokens of a request. */
export interface Load {
  readonly input: number;
  /** Most tokens of output. */
  readonly output: number;
}

/** Counts a request by the limits of its key and team. @throws Failure rate_limit */
export type Admit = (holder: KeyHolder, load: Load) => Promise<{ end(used: number): void }>;

/** Reserves and charges credits of requests. */
export type Ledger = Pick<Store, 'reserve' | 'settle' | 'release'>;

export interface MeterOptions {
  /** The model's public identifier. */
  readonly id: string;
  readonly model: TextModel;
  readonly request: TextRequest;
  /** Tags of the request, as one text. */
  readonly tags: string;
  /** Counts the request by limits of tokens, before its credits are reserved. @throws Failure rate_limit */
  readonly admit?: ((load: Load) => Promise<void>) | undefined;
  /** Bytes of the request's body. */
  readonly bytes: number;
  /** Whether the provider adds input to the request: stored texts, results of its tools. */
  readonly addsInput: boolean;
  /** Upper bound for requests to the provider; each of them is charged for its input. */
  readonly requests: number;
  /** The output limit of a model that has none. */
  readonly defaultLimit: number;
  /** Whether reported usage above the request's limits is charged. */
  readonly trustUpstream: boolean;
}

/** The charge for one request. */
export interface Charge {
  readonly used: Usage;
  /** Micro-credits that were charged. */
  readonly charge: number;
  /** The usage that the upstream reported; null where all of it was charged. */
  readonly excess: Usage | null;
}

/** What a request costs where the provider reports nothing. */
interface Estimates {
  /** Input tokens of each request. */
  readonly inputs: readonly number[];
  /** The same with the most that media may cost. */
  readonly cutInputs: readonly number[];
  /** Output tokens of an answer that the client left before its end; 0 where all output was seen. */
  readonly hiddenOutput: number;
  /** Null where reported usage is charged in full. */
  readonly bounds: Bounds | null;
}

/** Whether an answer may have reasoning that is charged and never shown. */
function mayReason(model: TextModel, { reasoning }: TextRequest): boolean {
  if (reasoning?.effort === 'none') return false;
  return reasoningOf(model).supported_efforts.some((effort) => effort !== 'none');
}

/** The reserved credits of one request, which are charged or released when it has ended. */
export type Meter = ReturnType<typeof meterOf>;

/**
 * Reserves the largest charge that a request may have.
 *
 * @throws Failure insufficient_quota
 */
export async function openMeter(
  store: Ledger,
  holder: KeyHolder,
  options: MeterOptions,
): Promise<Meter> {
  const { model, request, bytes, addsInput, requests, defaultLimit, trustUpstream } = options;
  const sizes = inputSizesOf(request, bytes, requests);
  const window = model.contextWindow ?? Infinity;
  const limit = request.maxOutputTokens ?? defaultOutputTokensOf(model) ?? defaultLimit;
  const output = limit * (request.n ?? 1);
  const estimates = {
    inputs: sizes.map(({ likely }) => Math.min(likely, window)),
    cutInputs: sizes.map(({ cut }) => Math.min(cut, window)),
    // One request may ask for all answers.
    hiddenOutput: mayReason(model, request) ? output / requests : 0,
    bounds: null,
  };
  if (options.admit) {
    const input = estimates.inputs.reduce((sum, tokens) => sum + tokens, 0);
    await options.admit({ input, output });
  }
  if (!isPriced(model)) return meterOf(store, holder, options, estimates, null);
  const added = addsInput ? MAX_UNKNOWN_INPUT : 0;
  const bounds = {
    inputs: sizes.map(({ most }) => Math.min(most + added, window)),
    output,
  };
  const amount = largestCost(model, bounds);
  const reservation = await store.reserve(holder.account.id, holder.key.id, amount);
  const limited = { ...estimates, bounds: trustUpstream ? null : bounds };
  return meterOf(store, holder, options, limited, reservation);
}

function meterOf(
  store: Ledger,
  { key, account }: KeyHolder,
  { id, model, tags }: Pick<MeterOptions, 'id' | 'model' | 'tags'>,
  { inputs, cutInputs, hiddenOutput, bounds }: Estimates,
  reservation: Reservation | null,
) {
  let hasEnded = false;

  /** The most that an answer costs which was aborted before the provider's report. @param output tokens that were seen */
  function cutUsageOf(index: number, output: number): Usage {
    return { ...NO_USAGE, input: cutInputs[index] ?? 0, output: Math.max(output, hiddenOutput) };
  }

  /** The usage of an answer whose provider reports none. @param output tokens that were seen */
  function estimateOf(index: number, output: number): Usage {
    return { ...NO_USAGE, input: inputs[index] ?? 0, output };
  }

  /** Reports at the start of an answer count no output: without its end the observed output counts. */
  function usageOf(answer: ObservedAnswer, index: number, isCut: boolean): Usage {
    const { usage, isFinished, outputTokens } = answer;
    if (usage !== null && isFinished) {
      if (usage.input > 0 && usage.output > 0) return usage;
      // Some providers report only one of the counts, or the other is no integer.
      const seen = estimateOf(index, outputTokens);
      return { ...usage, input: usage.input || seen.input, output: usage.output || seen.output };
    }
    const own = (isCut ? cutUsageOf : estimateOf)(index, outputTokens);
    return usage === null ? own : { ...usage, output: Math.max(usage.output, own.output) };
  }

  /**
   * Charges the reported usage of each answer; without a report, its estimated input and the observed output.
   *
   * @param isCut whether this server stopped reading before the report, so that the client may not have seen all reasoning
   */
  async function settle(answers: readonly ObservedAnswer[], isCut: boolean): Promise<Charge> {
    const usages = answers.flatMap((answer, index): RequestUsage[] => {
      if (answer.requests === 0 && answer.usage === null) return [];
      return [{ index, usage: usageOf(answer, index, isCut), isHit: answer.isHit }];
    });
    const reported = usages.map(({ usage }) => usage);
    const charged = bounds === null ? reported : within(usages, bounds);
    const used = sumOf(charged) ?? NO_USAGE;
    const all = sumOf(reported) ?? NO_USAGE;
    const excess = used.input < all.input || used.output < all.output ? all : null;
    if (hasEnded) return { used, charge: 0, excess };
    hasEnded = true;
    const { cached, written, writtenForAnHour } = inputPartsOf(used);
    const charge = await store.settle(reservation ?? { accountId: account.id, keyId: key.id }, {
      model: id,
      tags,
      counts: {
        requests: 1,
        inputTokens: used.input,
        cachedInputTokens: cached,
        cacheWriteTokens: written + writtenForAnHour,
        cacheWrite1hTokens: writtenForAnHour,
        outputTokens: used.output,
        cacheHits: usages.filter(({ isHit }) => isHit).length,
      },
      charge: costOf(
        model,
        charged.map((usage, at) => ({ ...usage, isHit: usages[at]!.isHit })),
      ),
    });
    return { used, charge, excess };
  }

  /** Releases the reservation without a charge. */
  async function release(): Promise<void> {
    if (hasEnded) return;
    hasEnded = true;
    if (reservation) await store.release(reservation);
  }

  // Whether an answer may cost more than its visible output and the text of its input.
  const hasHiddenCost =
    reservation !== null &&
    (hiddenOutput > 0 || cutInputs.some((input, index) => input > inputs[index]!));

  /** `inputTokens`: those of each request that are charged where the provider reports no usage. */
  return { inputTokens: inputs, hasHiddenCost, cutUsageOf, estimateOf, settle, release };
}
