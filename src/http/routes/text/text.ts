import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import * as v from 'valibot';
import { isBackground } from '../../../text/background/background.ts';
import type { Json } from '../../../text/canonical/canonical.ts';
import { TextReport } from '../../../text/canonical/report.ts';
import { ESTIMATE_HEADER } from '../../../text/counting/token-counter.ts';
import type { Dialect } from '../../../text/dialects/dialect.ts';
import type { Endpoint, RequestAddress } from '../../../text/dialects/endpoint.ts';
import { fieldRows } from '../../../text/dialects/field-rows.ts';
import { allDialects } from '../../../text/dialects/registry.ts';
import { IGNORED_HEADER, pathsHeader, type TextCall } from '../../../text/execution/execution.ts';
import type { StoredResponse } from '../../../text/stored/history.ts';
import { LightAbortSignal } from '../../../upstream/abort-signal.ts';
import { beginCopy } from '../../observability/request-bodies.ts';
import { EVENT_STREAM } from '../../openapi/openapi.ts';
import { admissionOf, showCost } from '../../request/admission.ts';
import type { AppContext } from '../../request/app-context.ts';
import { addEndpoint } from '../../request/endpoint.ts';
import { readTags } from '../../request/tags.ts';
import { turnOf } from '../../sockets/turn.ts';
import { disconnectSignal, onClientDisconnect } from '../../transport/client-disconnect.ts';
import { scheduleEndOfTick } from '../../transport/end-of-tick.ts';
import { SseResponse, sendEvents } from '../../transport/sse-response.ts';
import { wholeBody } from './responses.ts';

/** The document's entry for answers that are always streamed. */
const STREAMED = { description: 'Success', content: EVENT_STREAM };

/** Paths that name the model. The console's page of the API fills in the example. */
const MODEL_PARAMS = v.object({
  model: v.pipe(v.string(), v.description('the id of the model'), v.examples(['sandbox-chat'])),
});

type Params = Readonly<Record<string, string | undefined>>;

export type TextHttpRequest = FastifyRequest<{ Params: Params }>;

/** Adds an endpoint of a dialect, whose path may name the model. @param more properties of its own */
function addTextEndpoint(
  server: FastifyInstance,
  { path, aliases = [], summary, request, example, response }: Endpoint,
  more: Partial<Parameters<typeof addEndpoint<string, never, object>>[1]> & {
    readonly handler: (request: TextHttpRequest, reply: FastifyReply) => Promise<unknown>;
  },
): void {
  addEndpoint(server, {
    path: `POST ${path}`,
    aliases,
    tag: 'Text',
    summary,
    body: v.pipe(request, v.examples([example])),
    ...(path.includes(':model') && { params: MODEL_PARAMS }),
    answer: response,
    ...more,
  });
}

/** The endpoints of all text dialects. */
export function textRoutes(server: FastifyInstance, context: AppContext): void {
  for (const dialect of allDialects()) {
    const { name, requestIdHeader, endpoints, fields, operation = 'chat' } = dialect;
    for (const endpoint of endpoints) {
      const { stream } = endpoint;
      const handler = async (request: TextHttpRequest, reply: FastifyReply) => {
        if (requestIdHeader !== undefined) reply.header(requestIdHeader, request.id);
        const turn = turnOf(request);
        if (turn !== null) request.body = await turn.begin(request.body);
        if (name === 'responses' && context.config.responses.retention > 0) {
          const { body } = request;
          if (isBackground(body)) return inBackground(request, reply, context, body);
        }
        const address = { model: request.params.model ?? null, stream: stream ?? null };
        return answerText(request, reply, context, dialect, address);
      };
      addTextEndpoint(server, endpoint, {
        extensions: { 'x-oriel-fields': fieldRows(fields) },
        config: { operation },
        ...(stream && { answer: STREAMED }),
        handler,
      });
    }
  }
}

/** Answers a request for text in a dialect. @returns the document; the reply where it was streamed */
export async function answerText(
  request: TextHttpRequest,
  reply: FastifyReply,
  context: AppContext,
  dialect: Dialect,
  address: RequestAddress,
  more: Pick<TextCall, 'isCompaction'> = {},
): Promise<string | FastifyReply> {
  const turn = turnOf(request);
  const clientDisconnect = new LightAbortSignal();
  onClientDisconnect(reply, (failure) => clientDisconnect.abort(failure));
  const report = new TextReport(request.trace, tagsOf(request, dialect));
  request.textReport = report;
  const admission = admissionOf(request, reply, context);
  const copy = beginCopy(request, dialect, context.config);
  const sse = new SseResponse(reply, dialect.signOfLife, copy?.push);
  if (address.stream ?? isStreaming(request)) sse.keepAlive();
  try {
    const whole = await context.text.answer({
      requestId: request.id,
      dialect: dialect.name,
      address,
      body: request.body,
      bytes: lengthOf(request),
      headers: request.headers,
      holder: request.holder,
      clientDisconnect,
      response: sse,
      onCharging: scheduleEndOfTick,
      report,
      admit: admission?.admit,
      ...more,
      ...(turn !== null && { earlier: turn.connection.earlier, isWarmUp: turn.isWarmUp }),
    });
    if (whole === null) return reply;
    copy?.whole(whole);
    showCost(reply, report);
    // Fastify sends it. A promise of a reply would watch the response by a dozen listeners.
    reply.type('application/json; charset=utf-8');
    return `${whole}\n`;
  } finally {
    admission?.end(report.tokens);
    request.firstFrameMs = sse.firstFrameMs;
    sse.end(report.failure ? dialect.failChunk?.(report.failure) : undefined);
  }
}

/** Begins a response in the background. */
async function inBackground(
  request: TextHttpRequest,
  reply: FastifyReply,
  { background }: AppContext,
  body: Json,
) {
  const document = await background.submit(request.holder, body);
  if (!isStreaming(request)) return (document.body as StoredResponse).response;
  return sendEvents(request, reply, background.follow(document, -1, disconnectSignal(reply)));
}

function tagsOf(request: FastifyRequest, { labelsField }: Dialect): string {
  if (labelsField === undefined) return readTags(request);
  return readTags(request, (request.body as Record<string, unknown> | null)?.[labelsField]);
}

/** Bytes of the body; null for a body that comes in chunks and does not say its length. */
function lengthOf({ headers }: { readonly headers: FastifyRequest['headers'] }): number | null {
  const length = headers['content-length'];
  return length === undefined ? null : Number(length);
}

function isStreaming({ body }: { readonly body: unknown }): boolean {
  return (body as { readonly stream?: unknown } | null)?.stream === true;
}

/** The endpoints of text dialects that count tokens. They are free, and counted by the rate limit. */
export function tokenCountRoutes(server: FastifyInstance, context: AppContext): void {
  for (const { name, requestIdHeader, counting } of allDialects()) {
    if (counting === undefined) continue;
    const handler = async (request: TextHttpRequest, reply: FastifyReply) => {
      if (requestIdHeader !== undefined) reply.header(requestIdHeader, request.id);
      const { answer, isEstimate, ignored } = await context.tokenCounter.count({
        requestId: request.id,
        dialect: name,
        address: { model: request.params.model ?? null, stream: false },
        body: name === 'responses' ? await wholeBody(context, request) : request.body,
        headers: request.headers,
        holder: request.holder,
        signal: disconnectSignal(reply),
      });
      if (isEstimate) reply.header(ESTIMATE_HEADER, 'true');
      if (ignored.length > 0) reply.header(IGNORED_HEADER, pathsHeader(ignored));
      return answer;
    };
    addTextEndpoint(server, counting.endpoint, { handler });
  }
}
