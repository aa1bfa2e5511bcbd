import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import * as v from 'valibot';
import { Failure } from '../../../failure.ts';
import type { AppContext } from '../../request/app-context.ts';
import { hasBearerToken } from '../../request/auth.ts';

/**
 * Metrics of the daemon for Prometheus.
 *
 * @param isPublic whether clients reach the listener: metrics show what all accounts do, so that a
 *   token is required
 */
export function metricsRoute(context: AppContext, isPublic: boolean): FastifyPluginAsync {
  return async (server) => {
    if (!context.config.metrics.enabled) return;
    server.get('/metrics', {
      config: { vital: true },
      schema: {
        summary: 'Metrics for Prometheus; metrics.token is the bearer token',
        tags: ['Operation'],
        produces: ['text/plain'],
        response: { 200: v.string() },
      },
      handler: async (request, reply) => {
        checkToken(context, request, isPublic);
        reply.type(context.metrics.contentType).serializer((text) => String(text));
        return context.metrics.text();
      },
    });
  };
}

function checkToken({ config }: AppContext, request: FastifyRequest, isPublic: boolean): void {
  const { token } = config.metrics;
  if (token === undefined) {
    if (!isPublic) return;
    throw new Failure(
      'auth_error',
      'to read the metrics, set metrics.token, or server.operations for a listener of their own',
      { code: 'metrics_token_required' },
    );
  }
  if (hasBearerToken(request, token)) return;
  throw new Failure('auth_error', 'the metrics need metrics.token as bearer token', {
    code: 'invalid_api_key',
  });
}
