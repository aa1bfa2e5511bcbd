import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** Pipelined requests of one connection that may wait for their response. */
const MAX_UNANSWERED = 32;

/** Times in a send timeout that the progress of every connection is looked at. */
const CHECKS = 4;

/** Requests of one connection; after the last its response closes it. */
const MAX_REQUESTS_PER_CONNECTION = 10_000;

/** Connections where the operator sets no limit and descriptors do not run short. */
const DEFAULT_MAX_CONNECTIONS = 10_000;

/** Descriptors for the store, libraries, threads and connections to upstreams. */
const RESERVED_DESCRIPTORS = 256;

interface ConnectionLimits {
  /** Further connections are closed as they are accepted. */
  readonly maxConnections: number;
  /** Milliseconds in which a client must read something of a response that waits for it. */
  readonly sendTimeout: number;
}

/**
 * Bounds what connections may hold: their number, the requests of each, the responses that wait
 * behind an unread one, and the time for which a client reads nothing.
 */
export function limitConnections(
  server: FastifyInstance,
  { maxConnections, sendTimeout }: ConnectionLimits,
): void {
  const { server: http } = server;
  http.maxConnections = maxConnections;
  http.maxRequestsPerSocket = MAX_REQUESTS_PER_CONNECTION;
  closeStalled(server, sendTimeout);
  const queued = new WeakMap<Socket, Set<ServerResponse>>();

  server.addHook('onRequest', ({ raw: request }, { raw: response }, next) => {
    // Node assigns the connection to a response when those before it are sent: nearly always at once.
    if (response.socket === null && !enqueue(request.socket, response)) return;
    next();
  });

  /** @returns false where the connection has too many unanswered requests, and was closed */
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
   * Closes queued responses with their connection. Node closes only the one that is being sent; the
   * others would keep their resources, open files for instance, for ever.
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
 * Closes connections whose client reads nothing of a response that waits for it. Timeouts of sockets
 * would not do: they begin anew with each byte that the client sends, such as an empty line between two
 * requests.
 */
function closeStalled(server: FastifyInstance, sendTimeout: number): void {
  const progress = new Map<Socket, { sent: string; checks: number }>();
  server.server.on('connection', (socket: Socket) => {
    progress.set(socket, { sent: '', checks: 0 });
    socket.once('close', () => progress.delete(socket));
  });
  // Checks are counted rather than time, which also passes while the whole process is stopped.
  const timer = setInterval(() => {
    for (const [socket, last] of progress) {
      const sent = socket.writableLength === 0 ? '' : sentOf(socket);
      last.checks = sent !== '' && sent === last.sent ? last.checks + 1 : 0;
      last.sent = sent;
      if (last.checks < CHECKS) continue;
      server.log.warn({ ip: socket.remoteAddress }, 'a client that read nothing was disconnected');
      socket.destroy();
    }
  }, sendTimeout / CHECKS).unref();
  server.addHook('onClose', async () => clearInterval(timer));
}

/** What changes with every piece that the kernel takes, also of one large write. */
function sentOf(socket: Socket): string {
  const { _handle: handle } = socket as { _handle?: { readonly writeQueueSize?: number } };
  return `${socket.bytesWritten} ${socket.writableLength} ${handle?.writeQueueSize}`;
}

/**
 * How many connections fit below the limit of open descriptors, half of which are left to what
 * requests open: files, and connections to upstreams.
 */
export function defaultMaxConnections(): number {
  const limit = descriptorLimit() ?? Infinity;
  const fitting = Math.floor((limit - RESERVED_DESCRIPTORS) / 2);
  return Math.max(16, Math.min(DEFAULT_MAX_CONNECTIONS, fitting));
}

/** The limit of open descriptors, which Node has raised to the hard limit at its start. */
function descriptorLimit(): number | null {
  try {
    const line = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'));
    return line && Number(line[1]);
  } catch {
    return null;
  }
}
