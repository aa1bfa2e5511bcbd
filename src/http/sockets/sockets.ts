import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type WebSocket, WebSocketServer } from 'ws';
import { codedFailure, type Failure } from '../../failure.ts';
import { Sums } from '../../store/sums.ts';
import type { AppContext } from '../request/app-context.ts';
import { keyFailure } from '../request/auth.ts';
import { addEndpoint } from '../request/endpoint.ts';
import { shuttingDown } from '../responses/errors.ts';
import {
  type BodyBudget,
  BYTES_PER_BODY_BYTE,
  type MemoryShares,
} from '../transport/memory-shares.ts';
import { CLOSE, type ConnectionOptions, SocketConnection } from './connection.ts';
import { EarlierResponses, type EarlierShelf } from './earlier-responses.ts';
import { acceptUpgrades, detachUpgrade, upgradeOf } from './upgrade.ts';

const PATH = '/v1/responses';

/** Milliseconds in which a client must answer that the connection closes. */
const CLOSE_TIMEOUT_MS = 2000;

const NONCE = /^[+/0-9A-Za-z]{22}==$/;

/** The WebSocket mode of responses. */
export function responseSocketRoute(
  server: FastifyInstance,
  context: AppContext,
  { budget, shares }: { readonly budget: BodyBudget; readonly shares: MemoryShares },
): void {
  const { config, draining, store } = context;
  const { bodyLimit } = config.server;
  const limits = () => context.config.sockets;
  const connections = new Set<SocketConnection>();
  const byAccount = new Sums();
  const shelf: EarlierShelf = { bytes: 0, responses: new Set(), limits };
  const webSockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: bodyLimit,
    // One message in a turn of the event loop: a flood leaves time for other clients.
    allowSynchronousEvents: false,
    // Types of ws lack it.
    ...({ closeTimeout: CLOSE_TIMEOUT_MS } as object),
  });
  const services: Pick<ConnectionOptions, 'answer' | 'reserve'> = {
    answer: ({ request, response }) =>
      server.routing(request, response as unknown as ServerResponse),
    reserve(accountId, until) {
      budget.reserve(accountId, bodyLimit, until);
      shares.reserve(accountId, bodyLimit * BYTES_PER_BODY_BYTE, until);
    },
  };

  /** Not in the handler, whose closures would keep the request. */
  function add(web: WebSocket, connection: SocketConnection): void {
    const { accountId } = connection;
    const timer = setTimeout(
      () => connection.end(CLOSE.goingAway, aged(), true),
      limits().lifetime,
    );
    connections.add(connection);
    byAccount.add(accountId, 1);
    shares.reserve(accountId, 0, web);
    web.once('close', () => {
      clearTimeout(timer);
      connections.delete(connection);
      byAccount.add(accountId, -1);
    });
  }

  function open(request: FastifyRequest, { raw }: FastifyReply): void {
    const { socket: stream, head } = upgradeOf(request.raw)!;
    detachUpgrade(request.raw, raw);
    webSockets.handleUpgrade(request.raw, stream, head, (web) => {
      const earlier = new EarlierResponses(shelf);
      add(web, new SocketConnection({ web, stream, request, earlier, ...services }));
      // The request has ended: it is logged, and its memory is free.
      raw.statusCode = 101;
      raw.emit('finish');
      raw.emit('close');
    });
  }

  const timer = setInterval(() => {
    for (const connection of connections) {
      connection.check(context.config.server.requestTimeout);
      // The store may fail at present: the next interval tries again.
      store.findKey(connection.keyHash).then(
        (found) => keyFailure(found?.key, store.now) === null || connection.refuseKey(),
        () => {},
      );
    }
  }, config.sockets.ping).unref();
  server.addHook('onClose', async () => clearInterval(timer));
  draining.addEventListener('abort', () => {
    for (const connection of connections) connection.end(CLOSE.goingAway, shuttingDown());
  });
  context.metrics.gauge('oriel_sockets', 'Open WebSockets of responses', () => connections.size);
  acceptUpgrades(server, PATH);
  addEndpoint(server, {
    path: `GET ${PATH}`,
    tag: 'Text',
    summary: "Open a WebSocket in OpenAI's WebSocket mode of responses",
    handler: async (request, reply) => {
      if (!isHandshake(request)) {
        reply.headers({ upgrade: 'websocket', 'sec-websocket-version': '13' });
        const message =
          'expected a request for a WebSocket of version 13 (Upgrade: websocket), or POST; a proxy may have dropped Upgrade';
        throw codedFailure('upgrade_required', message);
      }
      if (draining.aborted) throw shuttingDown();
      const { perAccount } = limits();
      if (byAccount.of(request.holder.account.id) >= perAccount) {
        const message = `this account has ${perAccount} WebSockets open already; close one of them`;
        throw codedFailure('too_many_sockets', message, { retryAfter: 1 });
      }
      reply.hijack();
      open(request, reply);
      return reply;
    },
  });
}

function isHandshake({
  raw,
  headers,
}: { raw: IncomingMessage } & Pick<FastifyRequest, 'headers'>): boolean {
  const { 'sec-websocket-key': nonce = '', 'sec-websocket-version': version } = headers;
  return upgradeOf(raw) !== null && version === '13' && NONCE.test(nonce);
}

function aged(): Failure {
  const message = 'this connection has reached its greatest age; open another one to continue';
  return codedFailure('websocket_connection_limit_reached', message);
}
