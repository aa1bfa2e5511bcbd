import * as v from 'valibot';

// Messages of opentelemetry-proto 1.9 that this server may send, in the JSON mapping of OTLP: identifiers are
// hexadecimal, 64-bit numbers are texts. proto3 requires none of their fields, a collector some.

const text = v.pipe(
  v.string(),
  v.check((value) => Buffer.from(value).toString() === value, 'no UTF-8'),
);
const hex = (digits: number) =>
  v.pipe(v.string(), v.regex(new RegExp(`^(?!0+$)[0-9a-f]{${digits}}$`)));
const whole = v.pipe(v.number(), v.integer(), v.minValue(0));
const fixed64 = v.pipe(v.string(), v.regex(/^\d{1,20}$/));
const double = v.pipe(v.number(), v.finite());

const scalar = [
  v.strictObject({ stringValue: text }),
  v.strictObject({ boolValue: v.boolean() }),
  v.strictObject({ intValue: v.pipe(v.string(), v.regex(/^-?\d{1,19}$/)) }),
  v.strictObject({ doubleValue: double }),
];
const list = v.strictObject({ arrayValue: v.strictObject({ values: v.array(v.union(scalar)) }) });
const attributes = v.pipe(
  v.array(v.strictObject({ key: text, value: v.union([...scalar, list]) })),
  v.check((all) => new Set(all.map(({ key }) => key)).size === all.length, 'a key twice'),
);

const span = v.pipe(
  v.strictObject({
    traceId: hex(32),
    spanId: hex(16),
    parentSpanId: v.optional(hex(16)),
    flags: v.optional(v.pipe(whole, v.maxValue(2 ** 32 - 1))),
    name: text,
    kind: whole,
    startTimeUnixNano: fixed64,
    endTimeUnixNano: fixed64,
    attributes: v.optional(attributes),
    status: v.optional(v.strictObject({ code: v.optional(whole), message: v.optional(text) })),
  }),
  v.check((one) => BigInt(one.startTimeUnixNano) <= BigInt(one.endTimeUnixNano), 'ends too early'),
);

const point = {
  attributes: v.optional(attributes),
  startTimeUnixNano: v.optional(fixed64),
  timeUnixNano: fixed64,
};
const numbers = { dataPoints: v.array(v.strictObject({ ...point, asDouble: double })) };
const histogramPoint = v.pipe(
  v.strictObject({
    ...point,
    count: fixed64,
    sum: v.optional(double),
    bucketCounts: v.array(fixed64),
    explicitBounds: v.array(double),
  }),
  v.check(({ bucketCounts, explicitBounds }) => {
    return bucketCounts.length === explicitBounds.length + 1;
  }, 'not a bucket for each bound'),
  v.check(({ bucketCounts, count }) => {
    return bucketCounts.reduce((total, one) => total + Number(one), 0) === Number(count);
  }, 'the buckets do not sum up'),
  v.check(({ explicitBounds: bounds }) => {
    return bounds.every((bound, index) => index === 0 || bound > bounds[index - 1]!);
  }, 'bounds do not ascend'),
);
const described = { name: text, description: v.optional(text), unit: v.optional(text) };
const aggregation = { aggregationTemporality: whole };
const metric = v.union([
  v.strictObject({ ...described, gauge: v.strictObject(numbers) }),
  v.strictObject({
    ...described,
    sum: v.strictObject({ ...numbers, ...aggregation, isMonotonic: v.boolean() }),
  }),
  v.strictObject({
    ...described,
    histogram: v.strictObject({ dataPoints: v.array(histogramPoint), ...aggregation }),
  }),
]);

const resource = v.strictObject({ attributes });
const scope = v.strictObject({ name: text, version: v.optional(text) });
const scopeSpans = v.array(v.strictObject({ scope, spans: v.array(span) }));
const scopeMetrics = v.array(v.strictObject({ scope, metrics: v.array(metric) }));

const REQUESTS = {
  TraceRequest: v.strictObject({
    resourceSpans: v.array(v.strictObject({ resource, scopeSpans })),
  }),
  MetricsRequest: v.strictObject({
    resourceMetrics: v.array(v.strictObject({ resource, scopeMetrics })),
  }),
};

/** What a strict collector refuses in the body of a request; empty for a valid one. */
export function otlpFaults(type: keyof typeof REQUESTS, body: unknown): readonly string[] {
  const { issues = [] } = v.safeParse(REQUESTS[type], body);
  return issues.map((issue) => `${v.getDotPath(issue)}: ${issue.message}`);
}
