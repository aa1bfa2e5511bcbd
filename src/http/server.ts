import multipart from '@fastify/multipart';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { handsOver } from '../store/nodes.ts';
import { NO_TAGS } from '../store/tags.ts';
import { batchRoutes } from './batch/routes.ts';
import { imageUrlRoutes } from './image-urls/routes.ts';
import { serverLog } from './observability/log.ts';
import { requestRecorder } from './observability/request-record.ts';
import { collectRoutes, documentRoute } from './openapi/openapi.ts';
import { ownerRoutes } from './owner/routes.ts';
import type { AppContext } from './request/app-context.ts';
import { authenticator } from './request/auth.ts';
import { allowOrigin, answerPreflights } from './request/cors.ts';
import { SCHEMA_CONTROLLER } from './request/endpoint.ts';
import { fixIdentifiers } from './request/fixed-identifiers.ts';
import { newRequestId, recordError, requestLogger } from './request/request-log.ts';
import { beginSpan, endSpan, observeGenAi } from './request/request-span.ts';
import { jsonLine, sendFailure } from './responses/errors.ts';
import { accountRoutes } from './routes/account/account.ts';
import { overviewRoute } from './routes/account/overview.ts';
import { requestRoutes } from './routes/account/requests.ts';
import { sessionRoutes, signInRoute } from './routes/account/session.ts';
import { usageRoutes } from './routes/account/usage.ts';
import { textBatchRoutes } from './routes/batches/batches.ts';
import { fileFormRoutes, fileRoutes } from './routes/batches/files.ts';
import { geminiUploadRoutes } from './routes/batches/gemini-uploads.ts';
import { mediaRoutes } from './routes/media/media.ts';
import { mediaFormRoutes } from './routes/media/media-forms.ts';
import { videoRoutes } from './routes/media/videos.ts';
import { consolePage } from './routes/server/console-page.ts';
import { healthRoutes } from './routes/server/health.ts';
import { metricsRoute } from './routes/server/metrics.ts';
import { operationRoutes } from './routes/server/operations.ts';
import { answerUnknownRoutes, rootRoutes } from './routes/server/unknown.ts';
import { assetRoutes } from './routes/tasks/assets.ts';
import { taskEventRoutes } from './routes/tasks/task-events.ts';
import { taskRoutes } from './routes/tasks/tasks.ts';
import { compactionRoute } from './routes/text/compaction.ts';
import { conversationRoutes } from './routes/text/conversations.ts';
import { modelRoutes } from './routes/text/models.ts';
import { responseRoutes } from './routes/text/responses.ts';
import { rowRoutes } from './routes/text/rows.ts';
import { textRoutes, tokenCountRoutes } from './routes/text/text.ts';
import { responseSocketRoute } from './sockets/sockets.ts';
import { limitConnectionsByAddress, networkOf } from './transport/addresses.ts';
import { CLIENT_CLOSED_REQUEST, clientLeft } from './transport/client-disconnect.ts';
import { defaultMaxConnections, limitConnections } from './transport/connections.ts';
import { sendTogether } from './transport/end-of-tick.ts';
import { joinChunks, parseJsonBodies } from './transport/json-body.ts';
import {
  answerMalformedRequest,
  refuseCompressedBodies,
  requireOneHost,
} from './transport/malformed-requests.ts';
import {
  BodyBudget,
  BYTES_PER_BODY_BYTE,
  BYTES_PER_DOWNLOAD,
  bodyBytes,
  MemoryShares,
} from './transport/memory-shares.ts';
import { shedLoad } from './transport/pressure.ts';
import { lingerAfterRefusals, sendContinueAfterHooks } from './transport/refused-bodies.ts';

/** Connections to the operations listener: scrapers, probes and readers of the OpenAPI document. */
const OPERATIONS_CONNECTIONS = 64;

/** Milliseconds in which a proxy uses an idle connection of a node that drains for the last time. */
const LAST_USE_MS = 1000;

/** What clients of Groq and Azure, and OpenAI's clients of Google, have in place of `/v1`. */
const OPENAI_PREFIX = /^\/(?:openai\/v1|v1beta\/openai)\//;

/** Endpoints for keys of all accounts that add no hooks. */
const API_ROUTES = [
  accountRoutes,
  usageRoutes,
  overviewRoute,
  requestRoutes,
  modelRoutes,
  textRoutes,
  responseRoutes,
  conversationRoutes,
  tokenCountRoutes,
  compactionRoute,
  rowRoutes,
  taskRoutes,
  videoRoutes,
  taskEventRoutes,
  operationRoutes,
  fileRoutes,
  geminiUploadRoutes,
  textBatchRoutes,
];

/** The HTTP servers with all their endpoints, not yet listening. */
export function buildServers(context: AppContext) {
  const { server: settings, overload } = context.config;
  const maxConnections = settings.maxConnections ?? defaultMaxConnections();
  const server = newServer(context, maxConnections);
  server.addHook('onRequest', answerPreflights(context));
  limitConnectionsByAddress(server, context.config, maxConnections);
  const document = collectRoutes(server, {
    version: context.version,
    ...(settings.operations && { url: () => context.publicUrl }),
  });
  const load = shedLoad(server, overload);
  const shares = new MemoryShares(load.pressure);
  parseJsonBodies(server, shares);
  joinChunks(server);
  healthRoutes(server, context, load, true);
  server.register(async (assets) => {
    assets.addHook('onRequest', (request, { raw }, next) => {
      request.reserveMemory = (further) => shares.reserve(networkOf(request.ip), further, raw);
      request.reserveMemory(BYTES_PER_DOWNLOAD);
      next();
    });
    assetRoutes(assets, context);
    imageUrlRoutes(assets, context);
  });
  server.register(async (api) => {
    api.addHook('onRequest', authenticator(context));
    refuseCompressedBodies(api);
    const budget = limitBodies(api, context, shares);
    if (context.isDeterministic) fixIdentifiers(api);
    if (settings.console) signInRoute(api, context);
    for (const addRoutes of API_ROUTES) addRoutes(api, context);
    responseSocketRoute(api, context, { budget, shares });
    api.register(async (media) => mediaRoutes(media, context));
    api.register(async (owner) => ownerRoutes(owner, context));
    api.register(async (forms) => {
      await forms.register(multipart);
      mediaFormRoutes(forms, context);
      batchRoutes(forms, context);
      fileFormRoutes(forms, context);
    });
  });
  if (settings.console) {
    consolePage(server);
    sessionRoutes(server, context);
    rootRoutes(server);
  }
  const operations = settings.operations ? newServer(context, OPERATIONS_CONNECTIONS) : undefined;
  if (operations) healthRoutes(operations, context, load, false);
  metricsRoute(operations ?? server, context, operations === undefined);
  documentRoute(operations ?? server, document);
  return { server, operations };
}

/** A server without endpoints: limits, parsing, errors, logging and metrics. */
function newServer(context: AppContext, maxConnections: number): FastifyInstance {
  const { server: settings } = context.config;
  const { trustProxy } = settings;
  const server = fastify({
    ...serverLog(context.log),
    schemaController: SCHEMA_CONTROLLER,
    genReqId: ({ headers }) => newRequestId(headers['x-request-id']),
    rewriteUrl: ({ url }) => url!.replace(OPENAI_PREFIX, '/v1/'),
    trustProxy: typeof trustProxy === 'boolean' ? trustProxy : [...trustProxy],
    bodyLimit: settings.bodyLimit,
    // From the first to the last byte of a request: a slow body must end at some time.
    requestTimeout: settings.requestTimeout,
    http: {
      requireHostHeader: false,
      // Node 20 uses the longer of both timeouts, and checks them at intervals.
      headersTimeout: Math.min(60_000, settings.requestTimeout),
      connectionsCheckingInterval: Math.min(10_000, settings.requestTimeout),
    },
    keepAliveTimeout: 75_000,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 256 },
    // Hooks do not run for requests that the router refuses.
    frameworkErrors: (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
      allowOrigin(context, request, reply);
      sendFailure(error, request, reply);
    },
    clientErrorHandler: answerMalformedRequest,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
  }) as unknown as FastifyInstance;

  server.setReplySerializer(jsonLine);
  // No endpoint accepts plain text, which Fastify parses by default.
  server.removeContentTypeParser('text/plain');
  server.setErrorHandler(sendFailure);
  answerUnknownRoutes(server);
  sendContinueAfterHooks(server);
  lingerAfterRefusals(server);
  limitConnections(server, { maxConnections, sendTimeout: settings.sendTimeout });
  requireOneHost(server);
  observeRequests(server, context);
  sendTogether(server);
  return server;
}

/** Fields of requests that handlers set. */
const NULL_FIELDS = [
  ...(['holder', 'tags', 'textReport', 'firstFrameMs', 'failure', 'reserveMemory'] as const),
  ...(['task', 'trace', 'answerCopy', 'answering'] as const),
];

/** Sets x-request-id on every response, and logs and counts every request. */
function observeRequests(server: FastifyInstance, context: AppContext): void {
  const { log, metrics, draining, alerts } = context;
  const record = requestRecorder(context, context.store.requests, metrics.requestSeries);
  const logRequest = requestLogger(log);
  for (const name of NULL_FIELDS) server.decorateRequest(name, null as never);
  server.decorateRequest('isObserved', false);
  server.addHook('onRoute', (route) => {
    const { handler } = route;
    route.handler = function answer(request, reply) {
      request.answering = handler.call(this, request, reply);
      return request.answering;
    };
  });
  server.addHook('onRequest', (request, reply, next) => {
    reply.header('x-request-id', request.id);
    request.tags = NO_TAGS;
    const { raw } = reply;
    raw.once('close', () => {
      // Fastify calls no hook for a response whose connection was closed before its end.
      if (raw.writableFinished) return;
      const end = () => {
        request.failure ??= clientLeft();
        observe(request, CLIENT_CLOSED_REQUEST, reply.elapsedTime);
      };
      // The handler reports tokens and credits.
      Promise.resolve(request.answering).then(end, end);
    });
    const { tracer } = context;
    if (tracer !== null) beginSpan(request, tracer);
    next();
  });
  server.addHook('onSend', (_request, reply, payload, next) => {
    // An open connection would keep the process from ending.
    if (draining.aborted) reply.header('connection', 'close');
    next(null, payload);
  });
  server.addHook('onResponse', (request, reply, next) => {
    // The headers of a response that began earlier could not have `connection: close`. In front of several nodes a
    // proxy may use its connection once more just now, and get no answer.
    if (draining.aborted && handsOver(context.store)) {
      setTimeout(() => server.server.closeIdleConnections(), LAST_USE_MS).unref();
    } else if (draining.aborted) request.raw.socket.end();
    observe(request, reply.statusCode, reply.elapsedTime);
    next();
  });
  const observe = (request: FastifyRequest, status: number, elapsed: number) => {
    if (request.isObserved) return;
    request.isObserved = true;
    const { method, url, ip } = request;
    const route = request.routeOptions.url ?? 'unknown';
    metrics.observeRequest(method, route, status, elapsed / 1000);
    // Without the query, in which clients may send secrets by mistake.
    const query = url.indexOf('?');
    const path = query === -1 ? url : url.slice(0, query);
    const key = request.holder?.key.id;
    const milliseconds = Math.round(elapsed);
    const line = { requestId: request.id, method, path, status, milliseconds, ip, key };
    logRequest(line, request);
    if (request.failure?.type === 'insufficient_quota' && key !== undefined) {
      alerts.exhausted({ accountId: request.holder.account.id, keyId: key });
    }
    // Every request that costs is a POST; readers of this list would fill it.
    if (method === 'POST') record(request, { route, status, elapsed });
    if (request.textReport) {
      recordError(request, status, context.store);
      metrics.observeText(request.textReport, request.firstFrameMs, elapsed);
      const { model, failure } = request.textReport;
      if (model !== null && status !== CLIENT_CLOSED_REQUEST) {
        alerts.answered(model, request.failure ?? failure);
      }
      if (metrics.genAi !== null) observeGenAi(request, metrics.genAi, { elapsed, context });
    }
    if (request.trace !== null) endSpan(request, request.trace, { path, status, context });
  };
}

/** Limits the JSON bodies that are in memory at once; forms go to the spool. */
function limitBodies(
  api: FastifyInstance,
  { config, metrics }: AppContext,
  shares: MemoryShares,
): BodyBudget {
  const { bodyLimit } = config.server;
  const budget = new BodyBudget(config.overload.bodies, bodyLimit);
  metrics.gauge('oriel_body_bytes', 'Bytes of JSON bodies in memory', () => budget.bytes);
  api.addHook('onRequest', (request, reply, next) => {
    const isForm = request.headers['content-type']?.startsWith('multipart/') ?? false;
    const isOnDisk = isForm || request.routeOptions.config.isUpload;
    const bytes = isOnDisk ? 0 : bodyBytes(request, bodyLimit);
    const { id } = request.holder.account;
    budget.reserve(id, bytes, reply.raw);
    shares.reserve(id, bytes * BYTES_PER_BODY_BYTE, reply.raw);
    request.reserveMemory = (further) => shares.reserve(id, further, reply.raw);
    next();
  });
  return budget;
}
