import { getOrInsert } from '../maps.ts';
import { Attributes, jsonText } from './attributes.ts';

/** A metric of the registry with all its values. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly values: readonly MetricValue[];
}

interface MetricValue {
  /** The name with the suffix of a histogram's part: `_bucket`, `_sum`, `_count`. */
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/** The name of a metric in OpenTelemetry, where that is not its name in the registry. */
export interface OtlpName {
  readonly name: string;
  readonly unit: string;
}

/** Names of metrics and labels by those in the registry. */
export interface OtlpNames {
  readonly metrics: ReadonlyMap<string, OtlpName>;
  readonly labels: ReadonlyMap<string, string>;
}

/** Both ends of the time that the values count, in nanoseconds since the epoch. */
interface Period {
  readonly start: string;
  readonly end: string;
}

/** Sums and histograms count from the start of the process. */
const CUMULATIVE = 2;

/** The metrics of a registry as OTLP writes them in JSON: a list. */
export function metricData(
  families: readonly MetricFamily[],
  names: OtlpNames,
  period: Period,
): string {
  const metrics = families.flatMap((family) => {
    const data = dataOf(family, names, period);
    if (data === null) return [];
    const { name, unit } = names.metrics.get(family.name) ?? {
      name: family.name,
      unit: unitOf(family.name),
    };
    const description = JSON.stringify(family.help);
    return [`{"name":${jsonText(name)},"description":${description},"unit":"${unit}",${data}}`];
  });
  return `[${metrics.join()}]`;
}

function dataOf({ type, values }: MetricFamily, names: OtlpNames, period: Period): string | null {
  const time = `"startTimeUnixNano":"${period.start}","timeUnixNano":"${period.end}"`;
  const numbers = () =>
    values
      .filter(({ value }) => Number.isFinite(value))
      .map(({ labels, value }) => {
        return `{"attributes":${attributesOf(labels, names)},${time},"asDouble":${value}}`;
      });
  switch (type) {
    case 'counter': {
      const points = `"dataPoints":[${numbers().join()}]`;
      return `"sum":{${points},"aggregationTemporality":${CUMULATIVE},"isMonotonic":true}`;
    }
    case 'gauge':
      return `"gauge":{"dataPoints":[${numbers().join()}]}`;
    case 'histogram': {
      const points = histogramPoints(values, names, time);
      return `"histogram":{"dataPoints":[${points.join()}],"aggregationTemporality":${CUMULATIVE}}`;
    }
    default:
      return null;
  }
}

interface HistogramPoint {
  readonly labels: MetricValue['labels'];
  readonly bounds: number[];
  /** Values up to each bound, those of the bounds below included. */
  readonly cumulative: number[];
  sum: number;
  count: number;
}

function histogramPoints(
  values: readonly MetricValue[],
  names: OtlpNames,
  time: string,
): readonly string[] {
  const points = new Map<string, HistogramPoint>();
  for (const { metricName = '', labels, value } of values) {
    const { le, ...own } = labels;
    const identity = JSON.stringify(own);
    const point = getOrInsert(points, identity, () => ({
      labels: own,
      bounds: [],
      cumulative: [],
      sum: 0,
      count: 0,
    }));
    if (metricName.endsWith('_sum')) point.sum = value;
    else if (metricName.endsWith('_count')) point.count = value;
    else if (typeof le === 'number') {
      point.bounds.push(le);
      point.cumulative.push(value);
    }
  }
  return [...points.values()].map(({ labels, bounds, cumulative, sum, count }) => {
    const counts = [...cumulative, count].map((total, index) => {
      return `"${total - (cumulative[index - 1] ?? 0)}"`;
    });
    return (
      `{"attributes":${attributesOf(labels, names)},${time},"count":"${count}","sum":${sum},` +
      `"bucketCounts":[${counts.join()}],"explicitBounds":[${bounds.join()}]}`
    );
  });
}

function attributesOf(labels: MetricValue['labels'], names: OtlpNames): string {
  const attributes = new Attributes();
  for (const [label, value] of Object.entries(labels)) {
    attributes.text(names.labels.get(label) ?? label, String(value));
  }
  return attributes.toString();
}

/** The unit in UCUM that the suffix of a name says. */
function unitOf(name: string): string {
  if (/_seconds(?:_total)?$/.test(name)) return 's';
  return /_bytes(?:_total)?$/.test(name) ? 'By' : '1';
}
