import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as v from 'valibot';
import { codedFailure } from '../../../failure.ts';
import type { AppContext } from '../../request/app-context.ts';
import { hasBearerToken } from '../../request/auth.ts';
import { addEndpoint } from '../../request/endpoint.ts';

/**
 * Metrics of the daemon for Prometheus.
 *
 * @param isPublic whether clients reach the listener: metrics show what all accounts do, so that a
 *   token is required
 */
export function metricsRoute(
  server: FastifyInstance,
  context: AppContext,
  isPublic: boolean,
): void {
  if (!context.config.metrics.enabled) return;
  addEndpoint(server, {
    path: 'GET /metrics',
    tag: 'Operation',
    summary: 'Metrics for Prometheus; metrics.token is the bearer token',
    config: { vital: true },
    produces: ['text/plain'],
    answer: v.string(),
    handler: async (request, reply) => {
      checkToken(context, request, isPublic);
      reply.type(context.metrics.contentType).serializer((text) => String(text));
      return context.metrics.text();
    },
  });
}

function checkToken({ config }: AppContext, request: FastifyRequest, isPublic: boolean): void {
  const { token } = config.metrics;
  if (token === undefined) {
    if (!isPublic) return;
    throw codedFailure(
      'metrics_token_required',
      'to read the metrics, set metrics.token, or server.operations for a listener of their own',
    );
  }
  if (hasBearerToken(request, token)) return;
  throw codedFailure('invalid_api_key', 'the metrics need metrics.token as bearer token');
}
