import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { type OpenServer, openServer } from '../fixtures/open-server.ts';
import { otlpFaults } from './otlp-schema.ts';

type Values = Readonly<Record<string, unknown>>;

export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly flags: number;
  readonly name: string;
  readonly kind: number;
  readonly start: bigint;
  readonly end: bigint;
  readonly status: { readonly code?: number };
  readonly attributes: Values;
}

export interface DataPoint {
  readonly attributes: Values;
  readonly asDouble?: number;
  readonly count?: string;
  readonly sum?: number;
}

/** How the collector answers a request. */
export type Reply = (response: ServerResponse) => void;

/** A collector on its own port, which refuses whatever OTLP does not have. */
export interface MockCollector extends OpenServer {
  readonly spans: readonly Span[];
  /** The newest data points by the metric's name. */
  readonly metrics: ReadonlyMap<string, readonly DataPoint[]>;
  readonly resource: Values;
  readonly headers: IncomingHttpHeaders;
  /** What was wrong with requests. */
  readonly faults: readonly string[];
  readonly requests: readonly string[];
  /** Answers of the next requests, one each; the last one also answers all later ones. Null accepts. */
  reply(...replies: (Reply | null)[]): void;
  /** Resolves with the spans once they pass the test. */
  received(test: (spans: readonly Span[]) => boolean): Promise<readonly Span[]>;
  /** Resolves once metrics have come that pass the test. */
  measured(test: (metrics: ReadonlyMap<string, readonly DataPoint[]>) => boolean): Promise<void>;
}

export const refuse =
  (status: number, headers: Readonly<Record<string, string>> = {}, body = ''): Reply =>
  (response) =>
    response.writeHead(status, headers).end(body);

export const hang: Reply = () => {};

/** The span of a media task. */
export const taskSpan = (spans: readonly Span[], id: string) =>
  spans.find(({ attributes }) => attributes['oriel.task.id'] === id);

export async function startMockCollector(port = 0): Promise<MockCollector> {
  const spans: Span[] = [];
  const metrics = new Map<string, readonly DataPoint[]>();
  const faults: string[] = [];
  const requests: string[] = [];
  const watchers = new Set<() => void>();
  let resource: Values = {};
  let headers: IncomingHttpHeaders = {};
  let replies: (Reply | null)[] = [];

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    headers = request.headers;
    requests.push(request.url ?? '');
    const reply = replies.length > 1 ? replies.shift() : replies[0];
    const text = Buffer.concat(chunks).toString();
    if (reply) reply(response);
    else {
      const found = take(request.url ?? '', request.headers['content-type'], text);
      faults.push(...found);
      response
        .writeHead(found.length > 0 ? 400 : 200, { 'content-type': 'application/json' })
        .end('{}');
    }
    for (const watch of watchers) watch();
  });
  const take = (path: string, type: string | undefined, text: string): readonly string[] => {
    if (type !== 'application/json') return [`Content-Type is ${type}`];
    const body = JSON.parse(text);
    if (path.endsWith('/v1/traces')) {
      const wrong = otlpFaults('TraceRequest', body);
      if (wrong.length > 0) return wrong;
      for (const part of body.resourceSpans) {
        resource = valuesOf(part.resource.attributes);
        for (const { spans: all } of part.scopeSpans) spans.push(...all.map(spanOf));
      }
      return [];
    }
    if (!path.endsWith('/v1/metrics')) return [`there is no ${path}`];
    const wrong = otlpFaults('MetricsRequest', body);
    if (wrong.length > 0) return wrong;
    for (const part of body.resourceMetrics) {
      resource = valuesOf(part.resource.attributes);
      for (const metric of part.scopeMetrics.flatMap(
        (scope: { metrics: object[] }) => scope.metrics,
      )) {
        const { dataPoints } = metric.sum ?? metric.gauge ?? metric.histogram;
        metrics.set(
          metric.name,
          dataPoints.map((point: { attributes: KeyValue[] }) => ({
            ...point,
            attributes: valuesOf(point.attributes),
          })),
        );
      }
    }
    return [];
  };
  const until = (test: () => boolean) =>
    new Promise<void>((resolve) => {
      const watch = () => {
        if (!test()) return;
        watchers.delete(watch);
        resolve();
      };
      watchers.add(watch);
      watch();
    });
  return {
    ...(await openServer(server, port)),
    spans,
    metrics,
    faults,
    requests,
    get resource() {
      return resource;
    },
    get headers() {
      return headers;
    },
    reply(...next) {
      replies = next;
    },
    async received(test) {
      await until(() => test(spans));
      return spans;
    },
    measured: (test) => until(() => test(metrics)),
  };
}

interface KeyValue {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

function valuesOf(attributes: readonly KeyValue[] = []): Values {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, anyValueOf(value)]));
}

function anyValueOf(value: KeyValue['value']): unknown {
  if ('intValue' in value) return Number(value['intValue']);
  if ('arrayValue' in value) {
    const { values } = value['arrayValue'] as { readonly values: readonly KeyValue['value'][] };
    return values.map(anyValueOf);
  }
  return Object.values(value)[0];
}

// biome-ignore lint/suspicious/noExplicitAny: the schema has checked it
function spanOf(span: any): Span {
  const { startTimeUnixNano, endTimeUnixNano, attributes, ...rest } = span;
  return {
    ...rest,
    start: BigInt(startTimeUnixNano),
    end: BigInt(endTimeUnixNano),
    attributes: valuesOf(attributes),
  };
}
