/** What one route answered with one status, and how long that took. */
interface Series {
  readonly labels: Readonly<Record<string, string | number>>;
  /** How many took at most the bound of the same place, and more than the one before. */
  readonly counts: number[];
  sum: number;
  count: number;
}

/** One figure, as the library of metrics prints it. */
interface Figure {
  readonly metricName: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/**
 * A histogram of how long requests took. Every request is counted here: finding its series by three
 * names takes 30 ns, where the library makes a text of all labels first and takes 600 ns and more.
 */
export class Durations {
  readonly type = 'histogram';
  readonly aggregator = 'sum';
  readonly name: string;
  readonly help: string;
  readonly #bounds: readonly number[];
  readonly #series: Series[] = [];
  readonly #byRoute = new Map<string, Map<string, Map<number, Series>>>();

  /** @param bounds of the buckets in seconds, ascending */
  constructor(name: string, help: string, bounds: readonly number[]) {
    this.name = name;
    this.help = help;
    this.#bounds = bounds;
  }

  observe(method: string, route: string, status: number, seconds: number): void {
    const series =
      this.#byRoute.get(route)?.get(method)?.get(status) ?? this.#add(method, route, status);
    series.sum += seconds;
    series.count += 1;
    const bounds = this.#bounds;
    let at = 0;
    while (at < bounds.length && seconds > bounds[at]!) at += 1;
    if (at < bounds.length) series.counts[at]! += 1;
  }

  /** What the library asks for when somebody asks it. */
  async get() {
    const { name, help, type, aggregator } = this;
    return { name, help, type, aggregator, values: this.#series.flatMap((one) => this.#tell(one)) };
  }

  #add(method: string, route: string, status: number): Series {
    const methods = this.#byRoute.get(route) ?? new Map<string, Map<number, Series>>();
    this.#byRoute.set(route, methods);
    const statuses = methods.get(method) ?? new Map<number, Series>();
    methods.set(method, statuses);
    const counts = this.#bounds.map(() => 0);
    const series = { labels: { method, route, status }, counts, sum: 0, count: 0 };
    statuses.set(status, series);
    this.#series.push(series);
    return series;
  }

  #tell({ labels, counts, sum, count }: Series): Figure[] {
    const bucket = `${this.name}_bucket`;
    let below = 0;
    const buckets = this.#bounds.map((le, at) => {
      below += counts[at]!;
      return { metricName: bucket, labels: { le, ...labels }, value: below };
    });
    return [
      ...buckets,
      { metricName: bucket, labels: { le: '+Inf', ...labels }, value: count },
      { metricName: `${this.name}_sum`, labels, value: sum },
      { metricName: `${this.name}_count`, labels, value: count },
    ];
  }
}
