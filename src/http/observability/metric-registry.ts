import { Counter, Gauge, Histogram, Registry } from 'prom-client';

type Reading = number | Promise<number>;

/** Label, name and help of metrics, and the value for each value of the label. */
type LabelledMetric = readonly [
  label: string,
  name: string,
  help: string,
  read: () => Readings | Promise<Readings>,
];
type Readings = readonly (readonly [string, number])[];

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

  /** Adds a gauge that is read at each scrape. */
  gauge(name: string, help: string, read: () => Reading): void {
    new Gauge({
      name,
      help,
      registers: [this],
      async collect() {
        this.set(await read());
      },
    });
  }

  /** Adds gauges by one label that are read at each scrape. Values of one label are added. */
  gauges(...metric: LabelledMetric): void {
    new Gauge(this.#labelled(metric));
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
