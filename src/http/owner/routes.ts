import type { FastifyPluginAsync } from 'fastify';
import type { AppContext } from '../request/app-context.ts';
import { requireOwner } from '../request/auth.ts';
import { ownerRequestRoute } from '../routes/account/requests.ts';
import { ownerUsageRoute } from '../routes/account/usage.ts';
import { commandRoutes } from './commands.ts';
import { configurationRoute } from './configuration.ts';
import { ownerModelRoute } from './models.ts';
import { statusRoute } from './status.ts';

/** The endpoints of the operator, below `/v1/admin`. None of them accepts a key of another account. */
export function ownerRoutes(context: AppContext): FastifyPluginAsync {
  return async (server) => {
    // Before the body is read and the query is checked.
    server.addHook('onRequest', async (request) => requireOwner(request));
    server.register(commandRoutes(context));
    server.register(configurationRoute(context));
    server.register(statusRoute(context));
    server.register(ownerModelRoute(context));
    server.register(ownerUsageRoute(context));
    server.register(ownerRequestRoute(context));
  };
}
