/** Kinds of values in the JSON mapping of OTLP: identifiers are hexadecimal, 64-bit numbers are texts. */
type Kind =
  | 'string'
  | 'hex16'
  | 'hex8'
  | 'uint32'
  | 'enum'
  | 'fixed64'
  | 'int64'
  | 'double'
  | 'bool';

interface Field {
  /** A kind, or the name of a message. */
  readonly type: string;
  readonly isList?: true;
  readonly isRequired?: true;
}

const one = (type: string): Field => ({ type, isRequired: true });
const may = (type: string): Field => ({ type });
const list = (type: string): Field => ({ type, isList: true, isRequired: true });
const mayList = (type: string): Field => ({ type, isList: true });

/** Messages of opentelemetry-proto 1.9 that this server may send; proto3 requires none of their fields, a collector some. */
const MESSAGES: Readonly<Record<string, Readonly<Record<string, Field>>>> = {
  TraceRequest: { resourceSpans: list('ResourceSpans') },
  ResourceSpans: {
    resource: one('Resource'),
    scopeSpans: list('ScopeSpans'),
    schemaUrl: may('string'),
  },
  ScopeSpans: { scope: one('Scope'), spans: list('Span'), schemaUrl: may('string') },
  Span: {
    traceId: one('hex16'),
    spanId: one('hex8'),
    parentSpanId: may('hex8'),
    traceState: may('string'),
    flags: may('uint32'),
    name: one('string'),
    kind: one('enum'),
    startTimeUnixNano: one('fixed64'),
    endTimeUnixNano: one('fixed64'),
    attributes: mayList('KeyValue'),
    status: may('Status'),
  },
  Status: { code: may('enum'), message: may('string') },
  MetricsRequest: { resourceMetrics: list('ResourceMetrics') },
  ResourceMetrics: {
    resource: one('Resource'),
    scopeMetrics: list('ScopeMetrics'),
    schemaUrl: may('string'),
  },
  ScopeMetrics: { scope: one('Scope'), metrics: list('Metric'), schemaUrl: may('string') },
  Metric: {
    name: one('string'),
    description: may('string'),
    unit: may('string'),
    gauge: may('Gauge'),
    sum: may('Sum'),
    histogram: may('Histogram'),
  },
  Gauge: { dataPoints: list('NumberPoint') },
  Sum: {
    dataPoints: list('NumberPoint'),
    aggregationTemporality: one('enum'),
    isMonotonic: one('bool'),
  },
  NumberPoint: {
    attributes: mayList('KeyValue'),
    startTimeUnixNano: may('fixed64'),
    timeUnixNano: one('fixed64'),
    asDouble: one('double'),
  },
  Histogram: { dataPoints: list('HistogramPoint'), aggregationTemporality: one('enum') },
  HistogramPoint: {
    attributes: mayList('KeyValue'),
    startTimeUnixNano: one('fixed64'),
    timeUnixNano: one('fixed64'),
    count: one('fixed64'),
    sum: may('double'),
    bucketCounts: list('fixed64'),
    explicitBounds: list('double'),
  },
  Resource: { attributes: list('KeyValue') },
  Scope: { name: one('string'), version: may('string') },
  KeyValue: { key: one('string'), value: one('AnyValue') },
  AnyValue: {
    stringValue: may('string'),
    boolValue: may('bool'),
    intValue: may('int64'),
    doubleValue: may('double'),
    arrayValue: may('ArrayValue'),
  },
  ArrayValue: { values: list('AnyValue') },
};

const KINDS: Readonly<Record<Kind, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string' && Buffer.from(value).toString() === value,
  hex16: (value) => /^(?!0{32})[0-9a-f]{32}$/.test(String(value)),
  hex8: (value) => /^(?!0{16})[0-9a-f]{16}$/.test(String(value)),
  uint32: (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) < 2 ** 32,
  enum: (value) => Number.isInteger(value) && Number(value) >= 0,
  fixed64: (value) => typeof value === 'string' && /^\d{1,20}$/.test(value),
  int64: (value) => typeof value === 'string' && /^-?\d{1,19}$/.test(value),
  double: (value) => typeof value === 'number' && Number.isFinite(value),
  bool: (value) => typeof value === 'boolean',
};

function check(type: string, value: unknown, path: string, faults: string[]): void {
  if (type in KINDS) {
    if (!KINDS[type as Kind](value)) faults.push(`${path}: no ${type}: ${JSON.stringify(value)}`);
    return;
  }
  const fields = MESSAGES[type]!;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    faults.push(`${path}: no ${type}`);
    return;
  }
  const members = value as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(members)) {
    if (!(name in fields)) faults.push(`${path}.${name}: not in ${type}`);
  }
  for (const [name, field] of Object.entries(fields)) {
    const member = members[name];
    const at = `${path}.${name}`;
    if (member === undefined) {
      if (field.isRequired) faults.push(`${at}: missing`);
    } else if (!field.isList) check(field.type, member, at, faults);
    else if (!Array.isArray(member)) faults.push(`${at}: no list`);
    else
      for (const [index, item] of member.entries())
        check(field.type, item, `${at}[${index}]`, faults);
  }
  faults.push(...ruleFaults(type, members, path));
}

/** Rules of the protocol that its messages do not express. */
function ruleFaults(
  type: string,
  members: Readonly<Record<string, unknown>>,
  path: string,
): string[] {
  if (type === 'AnyValue' && Object.keys(members).length !== 1) return [`${path}: no single value`];
  if (type === 'Metric') {
    const data = ['gauge', 'sum', 'histogram'].filter((name) => name in members);
    return data.length === 1 ? [] : [`${path}: ${data.length} kinds of data`];
  }
  if (
    type === 'Span' &&
    BigInt(String(members['startTimeUnixNano'])) > BigInt(String(members['endTimeUnixNano']))
  ) {
    return [`${path}: ends before it starts`];
  }
  if (type === 'HistogramPoint') {
    const counts = members['bucketCounts'] as readonly string[];
    const bounds = members['explicitBounds'] as readonly number[];
    const sum = counts.reduce((total, count) => total + Number(count), 0);
    if (counts.length !== bounds.length + 1) return [`${path}: ${counts.length} buckets`];
    if (sum !== Number(members['count'])) return [`${path}: the buckets do not sum up`];
    if (bounds.some((bound, index) => index > 0 && bound <= bounds[index - 1]!)) {
      return [`${path}: bounds do not ascend`];
    }
  }
  const attributes = members['attributes'] as readonly { readonly key: string }[] | undefined;
  const keys = attributes?.map(({ key }) => key) ?? [];
  return new Set(keys).size === keys.length ? [] : [`${path}: an attribute is there twice`];
}

/** What a strict collector refuses in the body of a request; empty for a valid one. */
export function otlpFaults(
  type: 'TraceRequest' | 'MetricsRequest',
  body: unknown,
): readonly string[] {
  const faults: string[] = [];
  check(type, body, type, faults);
  return faults;
}
