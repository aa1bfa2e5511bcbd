import type { FastifyInstance } from 'fastify';
import type { AppContext } from '../request/app-context.ts';
import { requireOwner } from '../request/auth.ts';
import { ownerOverviewRoute } from '../routes/account/overview.ts';
import { ownerRequestRoutes } from '../routes/account/requests.ts';
import { ownerUsageRoute } from '../routes/account/usage.ts';
import { commandRoutes } from './commands.ts';
import { configurationRoute } from './configuration.ts';
import { ownerModelRoute } from './models.ts';
import { statusRoute } from './status.ts';

/** The endpoints of the operator, below `/v1/admin`. None of them accepts a key of another account. */
export function ownerRoutes(server: FastifyInstance, context: AppContext): void {
  // Before the body is read and the query is checked.
  server.addHook('onRequest', async (request) => requireOwner(request));
  commandRoutes(server, context);
  configurationRoute(server, context);
  statusRoute(server, context);
  ownerModelRoute(server, context);
  ownerUsageRoute(server, context);
  ownerOverviewRoute(server, context);
  ownerRequestRoutes(server, context);
}
