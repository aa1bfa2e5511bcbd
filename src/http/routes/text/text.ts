import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import * as v from 'valibot';
import { TextReport } from '../../../text/canonical/report.ts';
import type { RequestAddress } from '../../../text/dialects/endpoint.ts';
import { fieldRows } from '../../../text/dialects/field-rows.ts';
import { allDialects } from '../../../text/dialects/registry.ts';
import { LightAbortSignal } from '../../../upstream/abort-signal.ts';
import { EVENT_STREAM } from '../../openapi/openapi.ts';
import type { AppContext } from '../../request/app-context.ts';
import { onClientDisconnect } from '../../transport/client-disconnect.ts';
import { scheduleEndOfTick } from '../../transport/end-of-tick.ts';
import { SseResponse } from '../../transport/sse-response.ts';

/** The document's entry for answers that are always streamed. */
const STREAMED = { description: 'Success', content: EVENT_STREAM };

/** Paths that name the model. The console's page of the API fills in the example. */
export const MODEL_PARAMS = v.object({
  model: v.pipe(v.string(), v.description('the id of the model'), v.examples(['sandbox-chat'])),
});

export type TextHttpRequest = FastifyRequest<{ Params: { model?: string } }>;

/** The endpoints of all text dialects. */
export function textRoutes({ text }: AppContext): FastifyPluginAsync {
  return async (server) => {
    for (const dialect of allDialects()) {
      const { name, requestIdHeader, endpoints, fields, operation = 'chat' } = dialect;
      const fieldsExtension = { 'x-oriel-fields': fieldRows(fields) };
      for (const {
        path,
        aliases = [],
        stream,
        summary,
        request: shape,
        example,
        response,
      } of endpoints) {
        const body = v.pipe(shape, v.examples([example]));
        const schema = {
          summary,
          tags: ['Text'],
          ...fieldsExtension,
          body,
          ...(path.includes(':model') && { params: MODEL_PARAMS }),
          response: { 200: stream === true ? STREAMED : response },
        };
        const handler = async (request: TextHttpRequest, reply: FastifyReply) => {
          if (requestIdHeader !== undefined) reply.header(requestIdHeader, request.id);
          const clientDisconnect = new LightAbortSignal();
          onClientDisconnect(reply, (failure) => clientDisconnect.abort(failure));
          const address: RequestAddress = {
            model: request.params.model ?? null,
            stream: stream ?? null,
          };
          const report = new TextReport(request.trace);
          request.textReport = report;
          const sse = new SseResponse(reply, dialect.signOfLife);
          if (address.stream ?? isStreaming(request)) sse.keepAlive();
          try {
            const whole = await text.answer({
              requestId: request.id,
              dialect: name,
              address,
              body: request.body,
              bytes: lengthOf(request),
              headers: request.headers,
              holder: request.holder,
              clientDisconnect,
              response: sse,
              onCharging: scheduleEndOfTick,
              report,
            });
            if (whole === null) return reply;
            // Fastify sends it. A promise of a reply would watch the response by a dozen listeners.
            reply.type('application/json; charset=utf-8');
            return `${whole}\n`;
          } finally {
            request.firstFrameMs = sse.firstFrameMs;
            sse.end(report.failure ? dialect.failChunk?.(report.failure) : undefined);
          }
        };
        server.post(path, { schema, config: { operation }, handler });
        for (const alias of aliases) server.post(alias, { config: { operation }, handler });
      }
    }
  };
}

/** Bytes of the body; null for a body that comes in chunks and does not say its length. */
function lengthOf({ headers }: { readonly headers: FastifyRequest['headers'] }): number | null {
  const length = headers['content-length'];
  return length === undefined ? null : Number(length);
}

function isStreaming({ body }: { readonly body: unknown }): boolean {
  return (body as { readonly stream?: unknown } | null)?.stream === true;
}
