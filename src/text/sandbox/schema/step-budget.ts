/** Steps for one response. A step takes 0.1 to 0.2 µs, so that the slowest schema takes some 50 ms. */
const STEPS = 300_000;

/**
 * Bounds the work on schemas that clients send. Each loop over client input spends a step for each
 * element, so that no combination of keywords exceeds the budget.
 */
export class StepBudget {
  #remaining: number;

  constructor(steps: number = STEPS) {
    this.#remaining = steps;
  }

  /** @throws UnsupportedSchema if no steps are left */
  spend(steps: number): void {
    this.#remaining -= steps;
    if (this.#remaining < 0) throw new UnsupportedSchema('it is too large for the sandbox', true);
  }

  /** Runs an action with a share of the remaining steps. Steps that it does not spend are returned. */
  share<Result>(fraction: number, action: (budget: StepBudget) => Result): Result {
    const granted = Math.max(0, Math.floor(this.#remaining * fraction));
    const budget = new StepBudget(granted);
    try {
      return action(budget);
    } finally {
      this.#remaining -= granted - Math.max(0, budget.#remaining);
    }
  }
}

/** The sandbox can generate no value for a schema, or not within its step budget. */
export class UnsupportedSchema extends Error {
  /** Whether trying another alternative of the schema is pointless. */
  readonly final: boolean;

  constructor(why: string, final = false) {
    super(why);
    this.name = 'UnsupportedSchema';
    this.final = final;
  }
}

/** The result for the first option that does not throw UnsupportedSchema. */
export function firstSupported<Option, Result>(
  options: readonly Option[],
  resultFor: (option: Option) => Result,
  none: string,
): Result {
  let failure: unknown;
  for (const option of options) {
    try {
      return resultFor(option);
    } catch (error) {
      if (!(error instanceof UnsupportedSchema) || error.final) throw error;
      failure = error;
    }
  }
  throw failure ?? new UnsupportedSchema(none);
}
