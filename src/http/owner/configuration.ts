import type { FastifyInstance } from 'fastify';
import * as v from 'valibot';
import type { AppContext } from '../request/app-context.ts';
import { addEndpoint } from '../request/endpoint.ts';
import { seconds } from '../request/query.ts';

const configurationShape = v.object({
  object: v.literal('configuration'),
  file: v.pipe(
    v.nullable(v.string()),
    v.description('null for the sandbox of a start without one'),
  ),
  read: v.number(),
  settings: v.pipe(
    v.record(v.string(), v.unknown()),
    v.description('as `oriel config print --json`: with defaults, and with secrets as ***'),
  ),
  warnings: v.pipe(v.array(v.string()), v.description('probable mistakes')),
  at_restart: v.pipe(
    v.array(v.string()),
    v.description('changed settings of the file that take effect at the next start'),
  ),
  refused: v.pipe(
    v.nullable(v.object({ at: v.number(), faults: v.array(v.string()) })),
    v.description('the faults for which the last change of the file was not applied'),
  ),
});

/** Answer of `GET /v1/admin/config`. */
export type ConfigurationAnswer = v.InferOutput<typeof configurationShape>;

/** The configuration in force, and the faults of one that is not. */
export function configurationRoute(server: FastifyInstance, context: AppContext): void {
  addEndpoint(server, {
    path: 'GET /v1/admin/config',
    tag: 'Administration',
    summary:
      'The configuration in force without secrets, its warnings and faults; for keys of the account owner',
    answer: configurationShape,
    handler: async () => {
      const { effectiveSettingsOf } = await import('../../config/loading/print.ts');
      const { loaded, readAt, atRestart, refused } = context.configuration;
      const { config } = context;
      const settings = effectiveSettingsOf(loaded, config);
      // Flags of the command line outweigh the file.
      const own = settings['server'] as object;
      const { host, port } = config.server;
      return {
        object: 'configuration' as const,
        file: loaded.file,
        read: seconds(readAt),
        settings: { ...settings, server: { ...own, host, port } },
        warnings: [...loaded.warnings],
        at_restart: [...atRestart],
        refused: refused && { at: seconds(refused.at), faults: [...refused.faults] },
      };
    },
  });
}
