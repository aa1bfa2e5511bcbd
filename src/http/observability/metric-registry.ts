import {
  type Aggregator,
  AggregatorRegistry,
  Counter,
  Gauge,
  Histogram,
  Registry,
} from 'prom-client';

type Reading = number | Promise<number>;

/** Label, name and help of metrics, and the value for each value of the label. */
type LabelledMetric = readonly [
  label: string,
  name: string,
  help: string,
  read: () => Readings | Promise<Readings>,
  aggregator?: Aggregator,
];
type Readings = readonly (readonly [string, number])[];

/** All metrics of a process with their values. */
export type MetricFamilies = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

const added = (all: readonly MetricFamilies[]) => AggregatorRegistry.aggregate([...all]);

/** The metrics of several processes as one: the sum, or what the `aggregator` of a metric says. */
export function addMetrics(
  all: readonly MetricFamilies[],
  isWithoutGauges: boolean,
): Promise<MetricFamilies> {
  const isKept = ({ type }: MetricFamilies[number]) => !isWithoutGauges || String(type) !== 'gauge';
  return added(all.map((families) => families.filter(isKept))).getMetricsAsJSON();
}

/** The same in the text format of Prometheus. */
export const addedText = (all: readonly MetricFamilies[]): Promise<string> => added(all).metrics();

/** The registry of prom-client, with one call for a metric of each kind. */
export class MetricRegistry extends Registry {
  histogram<const Label extends string = never>(
    name: string,
    help: string,
    buckets: readonly number[],
    labelNames: readonly Label[] = [],
  ): Histogram<Label> {
    return new Histogram({ name, help, buckets: [...buckets], labelNames, registers: [this] });
  }

  counter<const Label extends string = never>(
    name: string,
    help: string,
    labelNames: readonly Label[] = [],
  ): Counter<Label> {
    return new Counter({ name, help, labelNames, registers: [this] });
  }

  /**
   * Adds a gauge that is read at each scrape.
   *
   * @param aggregator how the values of several processes on one port become one
   */
  gauge(name: string, help: string, read: () => Reading, aggregator: Aggregator = 'sum'): void {
    new Gauge({
      name,
      help,
      aggregator,
      registers: [this],
      async collect() {
        this.set(await read());
      },
    });
  }

  /** Adds such gauges by their names. */
  addGauges(
    all: Readonly<Record<string, readonly [help: string, () => Reading, aggregator?: Aggregator]>>,
  ): void {
    for (const [name, about] of Object.entries(all)) this.gauge(name, ...about);
  }

  /** Adds gauges by one label that are read at each scrape. Values of one label are added. */
  gauges(...metric: LabelledMetric): void {
    new Gauge({ ...this.#labelled(metric), aggregator: metric[4] ?? 'sum' });
  }

  /** The same for counters. */
  counters(...metric: LabelledMetric): void {
    new Counter(this.#labelled(metric));
  }

  #labelled([label, name, help, read]: LabelledMetric) {
    return {
      name,
      help,
      labelNames: [label],
      registers: [this],
      async collect(this: Gauge | Counter) {
        const readings = await read();
        this.reset();
        for (const [value, count] of readings) this.inc({ [label]: value }, count);
      },
    };
  }
}
