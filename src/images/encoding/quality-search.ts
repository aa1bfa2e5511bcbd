/** One encoding that a search has tried. */
export interface Trial {
  /** Bytes. */
  readonly size: number;
  /** SSIM against the source, where it was measured. */
  readonly ssim?: number;
}

/** A size that an encoding may have at most, or an SSIM that it has at least. */
export type Goal =
  | { readonly kind: 'size'; readonly bytes: number }
  | { readonly kind: 'ssim'; readonly least: number };

/** Most encodings of one search. */
export const MAX_TRIALS = 8;

/** Share of a target size from which a larger encoding is not searched. */
const ENOUGH_OF_SIZE = 0.97;
/** Excess of a target SSIM up to which a smaller encoding is not searched. */
const ENOUGH_OF_SSIM = 0.0004;

export function reaches(goal: Goal, { size, ssim = 0 }: Trial): boolean {
  return goal.kind === 'size' ? size <= goal.bytes : ssim >= goal.least;
}

function isClose(goal: Goal, { size, ssim = 0 }: Trial): boolean {
  return goal.kind === 'size'
    ? size >= goal.bytes * ENOUGH_OF_SIZE
    : ssim <= goal.least + ENOUGH_OF_SSIM;
}

/** The measure of a trial, on a scale on which it grows about evenly with quality. */
function measure(goal: Goal, { size, ssim = 0 }: Trial): number {
  return goal.kind === 'size' ? Math.log(size) : -Math.log(1 - Math.min(ssim, 0.999999));
}

function measureOfGoal(goal: Goal): number {
  return goal.kind === 'size'
    ? measure(goal, { size: goal.bytes })
    : measure(goal, { size: 0, ssim: goal.least });
}

/** The setting of a search that is known, and its trial. */
interface Bound<T> {
  readonly index: number;
  readonly trial?: T;
}

/**
 * Searches for the encoding that reaches a goal best: of the largest size that is allowed, or the smallest with the
 * SSIM. Settings are guessed by interpolation, within bounds that leave the rest to bisection, so that an encoder whose
 * size and SSIM grow with its setting gets its best one, or one that is close to the goal, within MAX_TRIALS.
 *
 * @param settings in the order of growing quality, at most 2^MAX_TRIALS - 1
 * @param first index of the first one that is tried
 * @returns all trials; `best` is null where none reaches the goal
 */
export async function searchQuality<T extends Trial>(
  encode: (setting: number) => Promise<T>,
  settings: readonly number[],
  { goal, first }: { readonly goal: Goal; readonly first: number },
): Promise<{ readonly best: T | null; readonly trials: readonly T[] }> {
  const trials: T[] = [];
  let low: Bound<T> = { index: -1 };
  let high: Bound<T> = { index: settings.length };
  let guess = first;
  while (high.index - low.index > 1 && trials.length < MAX_TRIALS) {
    // What bisection can still search on either side of the guess.
    const reach = 2 ** (MAX_TRIALS - trials.length - 1);
    const index = Math.min(
      Math.max(guess, low.index + 1, high.index - reach),
      high.index - 1,
      low.index + reach,
    );
    const trial = await encode(settings[index]!);
    trials.push(trial);
    const good = reaches(goal, trial);
    if (good && isClose(goal, trial)) break;
    // Better quality means more bytes: it is good for SSIM and bad for size.
    if (good === (goal.kind === 'ssim')) high = { index, trial };
    else low = { index, trial };
    guess = nextGuess(goal, low, high);
  }
  return { best: bestOf(goal, trials), trials };
}

function nextGuess(goal: Goal, low: Bound<Trial>, high: Bound<Trial>): number {
  const middle = Math.floor((low.index + high.index) / 2);
  if (!low.trial || !high.trial) return middle;
  const from = measure(goal, low.trial);
  const to = measure(goal, high.trial);
  const share = (measureOfGoal(goal) - from) / (to - from);
  if (!(share > 0 && share < 1)) return middle;
  const exact = low.index + share * (high.index - low.index);
  return goal.kind === 'size' ? Math.floor(exact) : Math.ceil(exact);
}

/** Of trials that reach the goal the largest for a size, the smallest for an SSIM. */
function bestOf<T extends Trial>(goal: Goal, trials: readonly T[]): T | null {
  const sign = goal.kind === 'size' ? -1 : 1;
  return trials
    .filter((trial) => reaches(goal, trial))
    .reduce<T | null>(
      (best, trial) => (best && sign * best.size <= sign * trial.size ? best : trial),
      null,
    );
}
