import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/**
 * Tells answers that wait for their turn on a connection when that closes. Node tells only the one
 * whose turn it is; the others would keep what they were going to send, open files say, for ever.
 */
export function endPipelined(server: FastifyInstance): void {
  const waiting = new WeakMap<Socket, Set<ServerResponse>>();
  server.addHook('onRequest', (request, { raw }, next) => {
    // An answer gets its connection when it is its turn: nearly always at once.
    if (raw.socket === null) waitFor(request.raw.socket, raw);
    next();
  });

  function waitFor(socket: Socket, answer: ServerResponse): void {
    const answers = waiting.get(socket) ?? listenTo(socket);
    answers.add(answer);
    answer.once('finish', () => answers.delete(answer));
  }

  function listenTo(socket: Socket): Set<ServerResponse> {
    const answers = new Set<ServerResponse>();
    waiting.set(socket, answers);
    socket.once('close', () => {
      for (const answer of answers) {
        if (answer.closed) continue;
        answer.destroy();
        answer.emit('close');
      }
    });
    return answers;
  }
}
