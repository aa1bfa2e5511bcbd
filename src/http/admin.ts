import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { peerActor } from '../administration/actor.ts';
import { runAdminCommand } from '../administration/admin-command.ts';
import {
  newToken,
  removeAdminEndpoint,
  writeAdminEndpoint,
} from '../administration/admin-endpoint.ts';
import { ADMIN_COMMANDS } from '../administration/registry.ts';
import { codedFailure, Failure } from '../failure.ts';
import { parseFields } from '../schema/fields.ts';
import { serverLog } from './observability/log.ts';
import { requireObject } from './owner/commands.ts';
import type { AppContext } from './request/app-context.ts';
import { hasBearerToken } from './request/auth.ts';
import { SCHEMA_CONTROLLER } from './request/endpoint.ts';
import { newRequestId } from './request/request-log.ts';
import { sendFailure } from './responses/errors.ts';
import { answerUnknownRoutes } from './routes/server/unknown.ts';

export interface AdminOptions extends Pick<AppContext, 'store' | 'audit' | 'catalog' | 'log'> {
  /** Where the records are, as `placeOf` says. */
  readonly place: string;
  /** The data directory, where the command line finds the address and the token. */
  readonly directory: string;
  /** The identifiers of all models of the configuration in force. */
  readonly models: () => readonly string[];
}

/**
 * Starts the local admin API: each administration command as `POST /group/command`, on loopback only, for
 * users who can read the token in the data directory.
 */
export async function startAdmin(options: AdminOptions): Promise<{ close(): Promise<void> }> {
  const { store, place, audit, catalog, directory, log, models } = options;
  const token = newToken();
  const server = fastify({
    ...serverLog(log),
    schemaController: SCHEMA_CONTROLLER,
    genReqId: ({ headers }) => newRequestId(headers['x-request-id']),
    bodyLimit: 65_536,
    requestTimeout: 10_000,
    // Requests in progress are completed while the server closes.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    frameworkErrors: sendFailure,
  }) as unknown as FastifyInstance;
  // Browsers let any page send plain text to any address without a preflight request.
  server.removeContentTypeParser('text/plain');
  server.setErrorHandler(sendFailure);
  server.addHook('onRequest', async (request) => authorize(request, token));
  server.addHook('onResponse', async ({ method, url, id }, { statusCode: status }) => {
    log.info({ requestId: id, method, path: url.split('?', 1)[0], status }, 'administration');
  });
  answerUnknownRoutes(server);
  for (const command of ADMIN_COMMANDS) {
    server.post(`/${command.group}/${command.name}`, async ({ body, headers, socket }) => {
      const fields = requireObject(body);
      checkPlace(headers['x-oriel-store'], place);
      const given = parseFields(command.options, fields);
      const { remotePort = 0, localPort = 0 } = socket;
      const who = await peerActor(remotePort, localPort, headers['x-oriel-sudo-user']);
      const result = await runAdminCommand(command, given as never, {
        store,
        audit: async () => audit,
        catalog,
        who,
      });
      return { result, warnings: command.warn?.(given, models()) ?? [] };
    });
  }
  // Exclusive: the processes of one server would share the listener.
  await server.listen({ host: '127.0.0.1', port: 0, exclusive: true });
  const { port } = server.server.address() as { port: number };
  try {
    writeAdminEndpoint(directory, { url: `http://127.0.0.1:${port}`, token, pid: process.pid });
  } catch (error) {
    await server.close();
    throw error;
  }
  return {
    async close() {
      removeAdminEndpoint(directory);
      await server.close();
    },
  };
}

/** Refuses a command for another database than that of this daemon. */
function checkPlace(wanted: string | readonly string[] | undefined, place: string): void {
  if (wanted === undefined || wanted === place) return;
  throw codedFailure(
    'two_stores',
    `the daemon of this data folder (process ${process.pid}) uses ${place}, and the configuration of the command has ${wanted}; give both the same settings, or name another folder by --data`,
  );
}

/**
 * Refuses requests without the token, and those of browsers: a page of another site can send requests
 * here through a name that resolves to this machine (DNS rebinding) or by trying ports.
 */
function authorize(request: FastifyRequest, token: string): void {
  const { headers, socket } = request;
  if (headers.host !== `127.0.0.1:${socket.localPort}` || headers.origin !== undefined) {
    throw new Failure(
      'auth_error',
      'the administration API does not accept requests from browsers',
      { status: 403 },
    );
  }
  if (hasBearerToken(request, token)) return;
  throw codedFailure('wrong_token', 'the token is not the one of this daemon');
}
