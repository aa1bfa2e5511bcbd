/** Examples kept of each violated rule. */
const EXAMPLES = 3;

export interface Violation {
  readonly rule: string;
  readonly count: number;
  readonly examples: readonly string[];
}

/** Violations by rule. */
export class Violations {
  readonly #byRule = new Map<string, { count: number; examples: string[] }>();

  add(rule: string, detail: string): void {
    const found = this.#byRule.get(rule) ?? { count: 0, examples: [] };
    this.#byRule.set(rule, found);
    found.count += 1;
    if (found.examples.length < EXAMPLES) found.examples.push(detail.slice(0, 600));
  }

  /** Adds violations of another process. */
  merge(others: readonly Violation[]): void {
    for (const { rule, count, examples } of others) {
      for (const example of examples) this.add(rule, example);
      const found = this.#byRule.get(rule)!;
      found.count += count - examples.length;
    }
  }

  get all(): Violation[] {
    return [...this.#byRule].map(([rule, found]) => ({ rule, ...found }));
  }
}
