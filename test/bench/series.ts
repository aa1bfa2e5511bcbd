/** Figures by name, without those that could not be measured. */
export type Figures<Name extends string> = Readonly<Partial<Record<Name, number>>>;

/** The figures of one contender, by load and round. */
export class Series<Name extends string> {
  readonly name: string;
  /** Version, options or work, for the table. */
  readonly settings: string;
  /** By load, for example a number of connections; `undefined` for a round without the contender. */
  readonly rounds: Record<number, (Figures<Name> | undefined)[]> = {};

  constructor(name: string, settings = '') {
    this.name = name;
    this.settings = settings;
  }

  at(load: number): (Figures<Name> | undefined)[] {
    this.rounds[load] ??= [];
    return this.rounds[load];
  }

  /** Adds the figures of a round, by default the next one. */
  add(figures: Figures<Name>, load = 1, round = this.at(load).length): void {
    this.at(load)[round] = figures;
  }

  values(name: Name, load = 1): number[] {
    return this.at(load).flatMap((figures) => figures?.[name] ?? []);
  }

  median(name: Name, load = 1): number | undefined {
    return median(this.values(name, load));
  }

  /** Ratios of a figure to another contender's in the same round. */
  over(other: Series<Name> | undefined, name: Name, load = 1): number[] {
    return this.#compared(other, name, load, (own, base) => (base === 0 ? undefined : own / base));
  }

  /** Differences of a figure to another contender's in the same round. */
  beyond(other: Series<Name> | undefined, name: Name, load = 1): number[] {
    return this.#compared(other, name, load, (own, base) => own - base);
  }

  #compared(
    other: Series<Name> | undefined,
    name: Name,
    load: number,
    compare: (own: number, base: number) => number | undefined,
  ): number[] {
    return this.at(load).flatMap((figures, round) => {
      const [own, base] = [figures?.[name], other?.at(load)[round]?.[name]];
      return (own === undefined || base === undefined ? undefined : compare(own, base)) ?? [];
    });
  }
}

export function median(values: readonly number[]): number | undefined {
  const sorted = [...values].sort((one, other) => one - other);
  const middle = sorted.length / 2;
  if (sorted.length === 0) return undefined;
  if (sorted.length % 2 === 1) return sorted[Math.floor(middle)];
  return (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Quantile of the values: 0.99 for p99. */
export function quantile(values: readonly number[], share: number): number | undefined {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

export function fixed(value: number | undefined, digits = 2): string {
  return value === undefined ? '' : value.toFixed(digits);
}

/** `0.88–0.95` */
export function range(values: readonly number[], digits = 2): string {
  if (values.length === 0) return '';
  return `${fixed(Math.min(...values), digits)}–${fixed(Math.max(...values), digits)}`;
}

/** `0.91 (0.88–0.95)` */
export function spread(values: readonly number[], digits = 2): string {
  if (values.length === 0) return '';
  return `${fixed(median(values), digits)} (${range(values, digits)})`;
}
