import type { OtlpName, OtlpNames } from '../../telemetry/metric-data.ts';
import type { TextReport } from '../../text/canonical/report.ts';
import type { MetricRegistry } from './metric-registry.ts';

/** Advised boundaries (semantic conventions for generative AI metrics). */
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);
const DURATIONS = Array.from({ length: 14 }, (_, power) => 0.01 * 2 ** power);
const FIRST_TOKENS = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
];
const PER_TOKEN = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5];

const LABELS = {
  gen_ai_operation_name: 'gen_ai.operation.name',
  gen_ai_provider_name: 'gen_ai.provider.name',
  gen_ai_request_model: 'gen_ai.request.model',
  gen_ai_token_type: 'gen_ai.token.type',
  error_type: 'error.type',
} as const;

const COMMON = [
  'gen_ai_operation_name',
  'gen_ai_provider_name',
  'gen_ai_request_model',
] as const satisfies readonly (keyof typeof LABELS)[];

/** Names in the registry, as exporters for Prometheus write them. */
const TOKEN_USAGE = 'gen_ai_client_token_usage';
const DURATION = 'gen_ai_server_request_duration_seconds';
const FIRST_TOKEN = 'gen_ai_server_time_to_first_token_seconds';
const TIME_PER_TOKEN = 'gen_ai_server_time_per_output_token_seconds';

/** Names of the conventions. */
const NAMES: Readonly<Record<string, OtlpName>> = {
  [TOKEN_USAGE]: { name: 'gen_ai.client.token.usage', unit: '{token}' },
  [DURATION]: { name: 'gen_ai.server.request.duration', unit: 's' },
  [FIRST_TOKEN]: { name: 'gen_ai.server.time_to_first_token', unit: 's' },
  [TIME_PER_TOKEN]: { name: 'gen_ai.server.time_per_output_token', unit: 's' },
};

export const OTLP_NAMES: OtlpNames = {
  metrics: new Map(Object.entries(NAMES)),
  labels: new Map(Object.entries(LABELS)),
};

/** An answered request for text or embeddings. Times are milliseconds. */
export interface GenAiRequest {
  readonly operation: string;
  readonly report: TextReport;
  /** `gen_ai.provider.name`. */
  readonly provider: string;
  /** `error.type`; null for success. */
  readonly error: string | null;
  /** Until the first frame of a stream; null for a whole answer. */
  readonly firstFrameMs: number | null;
  readonly elapsed: number;
}

export type GenAiMetrics = ReturnType<typeof genAiMetrics>;

/** The metrics of the semantic conventions for generative AI, registered where they are sent to a collector. */
export function genAiMetrics(registry: MetricRegistry) {
  const tokens = registry.histogram(TOKEN_USAGE, 'Tokens of a request', TOKENS, [
    ...COMMON,
    'gen_ai_token_type',
  ]);
  const durations = registry.histogram(
    DURATION,
    'Time from the arrival of a request to the end of its response',
    DURATIONS,
    [...COMMON, 'error_type'],
  );
  const firstTokens = registry.histogram(
    FIRST_TOKEN,
    'Time from the arrival of a streamed request to the first event of its answer',
    FIRST_TOKENS,
    COMMON,
  );
  const perToken = registry.histogram(
    TIME_PER_TOKEN,
    'Time after the first event of a streamed answer by output tokens after the first',
    PER_TOKEN,
    COMMON,
  );
  return {
    observe({ operation, report, provider, error, firstFrameMs, elapsed }: GenAiRequest): void {
      const { model, usage } = report;
      if (model === null) return;
      const labels = {
        gen_ai_operation_name: operation,
        gen_ai_provider_name: provider,
        gen_ai_request_model: model,
      };
      const own = error === null ? labels : { ...labels, error_type: error };
      durations.observe(own, elapsed / 1000);
      if (usage !== null) {
        tokens.observe({ ...labels, gen_ai_token_type: 'input' }, usage.input);
        if (operation !== 'embeddings' && operation !== 'rerank') {
          tokens.observe({ ...labels, gen_ai_token_type: 'output' }, usage.output);
        }
      }
      if (firstFrameMs === null || error !== null) return;
      firstTokens.observe(labels, firstFrameMs / 1000);
      if (usage === null || usage.output < 2) return;
      perToken.observe(labels, (elapsed - firstFrameMs) / 1000 / (usage.output - 1));
    },
    /** Removes the metrics from the registry. */
    remove(): void {
      for (const name of Object.keys(NAMES)) registry.removeSingleMetric(name);
    },
  };
}
