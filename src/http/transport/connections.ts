import cluster from 'node:cluster';
import { readFileSync } from 'node:fs';
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { valueOr } from '../../flow.ts';

/** Pipelined requests of one connection that may wait for their response. */
const MAX_UNANSWERED = 32;

/** Checks of every connection's progress within a send timeout. */
const CHECKS = 4;

/** Requests of one connection; after the last its response closes it. */
const MAX_REQUESTS_PER_CONNECTION = 10_000;

/** Connections unless the operator sets a limit or descriptors allow fewer. */
const DEFAULT_MAX_CONNECTIONS = 10_000;

/** Descriptors for the store, libraries, threads and connections to upstreams. */
const RESERVED_DESCRIPTORS = 256;

interface ConnectionLimits {
  /** Further connections are closed as they are accepted. */
  readonly maxConnections: number;
  /** Milliseconds within which a client must read some of a response that waits to be sent. */
  readonly sendTimeout: number;
}

/**
 * Limits connections: their number, the requests of each, the responses queued behind an unread one,
 * and the time for which a client reads nothing.
 */
export function limitConnections(
  server: FastifyInstance,
  { maxConnections, sendTimeout }: ConnectionLimits,
): void {
  const { server: http } = server;
  if (cluster.isWorker) closeFurther(http, maxConnections);
  else http.maxConnections = maxConnections;
  http.maxRequestsPerSocket = MAX_REQUESTS_PER_CONNECTION;
  closeStalled(server, sendTimeout);
  const queued = new WeakMap<Socket, Set<ServerResponse>>();

  server.addHook('onRequest', ({ raw: request }, { raw: response }, next) => {
    // Node assigns the socket to a response once the earlier ones are sent: nearly always at once.
    if (response.socket === null && !enqueue(request.socket, response)) return;
    next();
  });

  /** @returns false if the connection was closed, for too many unanswered requests for instance */
  function enqueue(socket: Socket, response: ServerResponse): boolean {
    if (socket.destroyed) return false;
    const responses = queued.get(socket) ?? track(socket);
    if (responses.size >= MAX_UNANSWERED) {
      socket.destroy();
      return false;
    }
    responses.add(response);
    response.once('finish', () => responses.delete(response));
    return true;
  }

  /**
   * Closes queued responses with their connection. Node closes only the response that is being sent;
   * the others would keep their resources, such as open files, for ever.
   */
  function track(socket: Socket): Set<ServerResponse> {
    const responses = new Set<ServerResponse>();
    queued.set(socket, responses);
    socket.once('close', () => {
      for (const response of responses) {
        if (response.closed) continue;
        response.destroy();
        response.emit('close');
      }
    });
    return responses;
  }
}

/**
 * Closes connections beyond a number. With `maxConnections` a process of a cluster would return them to the supervisor,
 * which would offer them again and again.
 */
function closeFurther(http: Server, most: number): void {
  let open = 0;
  http.on('connection', (socket: Socket) => {
    open += 1;
    socket.once('close', () => {
      open -= 1;
    });
    if (open > most) socket.destroy();
  });
}

/**
 * Closes connections whose client does not read its response. A socket timeout is not enough: it
 * restarts with each byte that the client sends, such as an empty line between two requests.
 */
function closeStalled(server: FastifyInstance, sendTimeout: number): void {
  const progress = new Map<Socket, { sent: string; checks: number }>();
  server.server.on('connection', (socket: Socket) => {
    progress.set(socket, { sent: '', checks: 0 });
    socket.once('close', () => progress.delete(socket));
  });
  // Counts checks rather than time, which also passes while the process is suspended.
  const timer = setInterval(() => {
    for (const [socket, last] of progress) {
      const sent = socket.writableLength === 0 ? '' : sentOf(socket);
      last.checks = sent !== '' && sent === last.sent ? last.checks + 1 : 0;
      last.sent = sent;
      if (last.checks < CHECKS) continue;
      server.log.warn(
        { ip: socket.remoteAddress },
        'disconnected a client that did not read its response',
      );
      socket.destroy();
    }
  }, sendTimeout / CHECKS).unref();
  server.addHook('onClose', async () => clearInterval(timer));
}

/** A text that changes with every chunk that the kernel accepts, also within one large write. */
function sentOf(socket: Socket): string {
  const { _handle: handle } = socket as { _handle?: { readonly writeQueueSize?: number } };
  return `${socket.bytesWritten} ${socket.writableLength} ${handle?.writeQueueSize}`;
}

/**
 * The connections that the limit of open descriptors allows: half of the descriptors are for what
 * requests open, files and connections to upstreams.
 */
export function defaultMaxConnections(limit = descriptorLimit() ?? Infinity): number {
  const fitting = Math.floor((limit - RESERVED_DESCRIPTORS) / 2);
  return Math.max(16, Math.min(DEFAULT_MAX_CONNECTIONS, fitting));
}

/** The limit of open descriptors, which Node raises to the hard limit when it starts; null where it is not known. */
export function descriptorLimit(process: number | 'self' = 'self'): number | null {
  const limits = valueOr(() => readFileSync(`/proc/${process}/limits`, 'latin1'), '');
  const line = /^Max open files +(\d+)/m.exec(limits);
  return line && Number(line[1]);
}
