import { invalid } from '../../../schema/invalid.ts';
import type { Json } from '../../canonical/canonical.ts';

/** Steps for one response. A step takes 0.1 to 0.2 µs, so that the slowest schema takes some 50 ms. */
const STEPS = 300_000;

/** Bounds the work on schemas that clients send: each visit of a schema spends steps for all that is read of it. */
export class StepBudget {
  #remaining = STEPS;

  /** Whether more than half of the steps are spent. */
  get isLow(): boolean {
    return this.#remaining < STEPS / 2;
  }

  /** @throws UnsupportedSchema if no steps are left */
  spend(steps: number): void {
    this.#remaining -= steps;
    if (this.#remaining < 0) throw new UnsupportedSchema('it is too large for the sandbox', true);
  }

  /** Spends the steps of reading one schema: its keywords, with their lists and names. */
  visit(schema: Json): void {
    const sizes = Object.values(schema).map((value) => {
      if (typeof value === 'string') return 1 + value.length / 16;
      if (Array.isArray(value)) return 1 + value.length;
      return typeof value === 'object' && value !== null ? 1 + Object.keys(value).length : 1;
    });
    this.spend(sizes.reduce((sum, size) => sum + size, 10));
  }

  /** Spends the steps of a value that a schema lists, which may be large. @returns the value as JSON */
  visitValue(value: unknown): string {
    const json = JSON.stringify(value) ?? '';
    this.spend(json.length / 16);
    return json;
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

/**
 * Runs work on schemas of a request.
 *
 * @param param the field that has them
 * @throws Failure invalid_request, code `unsupported_schema`
 */
export function withSupported<Result>(param: string, about: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof UnsupportedSchema)) throw error;
    throw invalid(param, `${about}: ${error.message}`, 'unsupported_schema');
  }
}

/** The result for the first option that does not throw UnsupportedSchema. */
export function firstSupported<Option, Result>(
  options: readonly Option[],
  resultFor: (option: Option) => Result,
): Result {
  let failure = new UnsupportedSchema('no value satisfies it');
  for (const option of options) {
    try {
      return resultFor(option);
    } catch (error) {
      if (!(error instanceof UnsupportedSchema) || error.final) throw error;
      failure = error;
    }
  }
  throw failure;
}
