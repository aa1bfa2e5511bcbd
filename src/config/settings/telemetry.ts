import * as v from 'valibot';
import { field, number, optional, withDefault } from '../../schema/fields.ts';
import { headerMap, TRANSPORT_HEADERS } from '../fields/headers.ts';
import { atMost, httpUrl, text } from '../fields/text.ts';
import { duration } from '../fields/units.ts';

const attributes = v.pipe(
  v.record(
    v.pipe(
      v.string(),
      v.regex(/^[A-Za-z][A-Za-z0-9._-]{0,127}$/),
      v.check((name) => name !== 'service.name'),
      v.metadata({
        expects: 'a name such as deployment.environment.name, other than service.name,',
      }),
    ),
    field(v.pipe(v.string(), v.maxLength(256)), 'Value of the attribute.', {
      expects: 'a text of 256 characters at most',
    }),
  ),
  atMost(32, 'attributes'),
);

const otlp = v.strictObject({
  endpoint: field(
    httpUrl(),
    'Base URL of the collector, to which /v1/traces and /v1/metrics are appended; private addresses are ' +
      'allowed.',
    { secret: 'interpolated', example: 'http://127.0.0.1:4318' },
  ),
  headers: optional(headerMap(TRANSPORT_HEADERS, 'always'), 'Further headers.', {
    example: { authorization: `Bearer \${OTLP_TOKEN}` },
  }),
  traces: withDefault(v.boolean(), true, 'Whether spans are sent.'),
  metrics: withDefault(v.boolean(), true, 'Whether metrics are sent.'),
  sampling: withDefault(
    number(0, 1),
    1,
    'Share of traces that are sent. If a client sends a traceparent, its sampled flag decides.',
  ),
  propagate: withDefault(
    v.boolean(),
    false,
    'Whether requests to providers carry a traceparent, which lets providers link the requests of a trace.',
  ),
  interval: withDefault(
    duration('1s', '1h'),
    '60s',
    'How often metrics are sent, and once more when the daemon stops.',
  ),
  timeout: withDefault(duration('10ms', '1m'), '10s', 'Time limit for a request to the collector.'),
  service: withDefault(v.pipe(text(), v.maxLength(256)), 'oriel', 'The service.name.'),
  attributes: optional(attributes, 'Further attributes of the resource.', {
    example: { 'deployment.environment.name': 'production' },
  }),
});

/** What is sent to servers that observe this one. */
export const telemetry = v.strictObject({
  otlp: optional(
    otlp,
    'OpenTelemetry over OTLP/HTTP, in JSON. Unset: none. Prompts, answers and keys are never in it. ' +
      `OpenTelemetry's variables are read only if this file names them: \${OTEL_EXPORTER_OTLP_ENDPOINT}.`,
  ),
});
