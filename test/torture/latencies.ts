/** Milliseconds. */
export interface Quantiles {
  readonly p50: number;
  readonly p99: number;
  readonly worst: number;
}

/** Latencies of one group of requests, in milliseconds. */
export class Latencies {
  readonly #byGroup = new Map<string, number[]>();

  add(group: string, milliseconds: number): void {
    const list = this.#byGroup.get(group);
    if (list) list.push(milliseconds);
    else this.#byGroup.set(group, [milliseconds]);
  }

  get groups(): (Quantiles & { readonly group: string; readonly count: number })[] {
    return [...this.#byGroup]
      .map(([group, list]) => ({ group, count: list.length, ...quantiles(list) }))
      .sort((a, b) => a.group.localeCompare(b.group));
  }

  /** Of several groups together. */
  of(groups: readonly string[]): Quantiles & { readonly count: number } {
    const list = groups.flatMap((group) => this.#byGroup.get(group) ?? []);
    return { count: list.length, ...quantiles(list) };
  }
}

function quantiles(list: readonly number[]): Quantiles {
  const sorted = [...list].sort((a, b) => a - b);
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { p50: at(0.5), p99: at(0.99), worst: sorted.at(-1) ?? 0 };
}
