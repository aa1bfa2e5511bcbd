import type { FastifyInstance } from 'fastify';
import * as v from 'valibot';
import { INVALID_CONFIG } from '../../config/yaml/invalid.ts';
import { Failure } from '../../failure.ts';
import { field } from '../../schema/fields.ts';
import type { AppContext } from '../request/app-context.ts';
import { keyActor } from '../request/auth.ts';
import { addEndpoint } from '../request/endpoint.ts';
import { seconds } from '../request/query.ts';

const configurationShape = v.object({
  object: v.literal('configuration'),
  file: field(v.nullable(v.string()), 'null for the sandbox of a start without one'),
  read: v.number(),
  settings: field(
    v.record(v.string(), v.unknown()),
    'as `oriel config print --json`: with defaults, and with secrets as ***',
  ),
  unset: field(v.array(v.string()), 'settings that have neither a value nor a default'),
  sources: field(
    v.record(v.string(), v.string()),
    'where values come from, by the paths of settings: `oriel.yaml:12`, `$NAME` for environment variables, `command line`; ' +
      'other settings have their default',
  ),
  warnings: field(v.array(v.string()), 'probable mistakes'),
  at_restart: field(
    v.array(v.string()),
    'changed settings of the file that take effect at the next start',
  ),
  refused: field(
    v.nullable(v.object({ at: v.number(), faults: v.array(v.string()) })),
    'the faults for which the last change of the file was not applied',
  ),
});

/** Answer of `GET /v1/admin/config`. */
export type ConfigurationAnswer = v.InferOutput<typeof configurationShape>;

/** The configuration in force, where it comes from, and the faults of one that is not. */
export function configurationRoute(server: FastifyInstance, context: AppContext): void {
  addEndpoint(server, {
    path: 'GET /v1/admin/config',
    tag: 'Administration',
    summary:
      'The configuration in force without secrets, its warnings and faults; for keys of the account owner',
    answer: configurationShape,
    handler: () => answerOf(context),
  });

  addEndpoint(server, {
    path: 'POST /v1/admin/config/reload',
    tag: 'Administration',
    summary: 'Read the configuration file again, as SIGHUP does; for keys of the account owner',
    description:
      'A file with faults changes nothing: the message has a line for each, with the file and the line.',
    answer: configurationShape,
    handler: async (request) => {
      if (context.reload === null) {
        throw new Failure('invalid_request', 'reload: expected a server of `oriel serve`');
      }
      const faults = await context.reload(keyActor(request));
      if (faults.length > 0) {
        throw new Failure('invalid_request', faults.join('\n'), { code: INVALID_CONFIG });
      }
      return answerOf(context);
    },
  });
}

async function answerOf(context: AppContext): Promise<ConfigurationAnswer> {
  const { effectiveSettingsOf, sourcesOf, unsetIn } = await import('../../config/loading/print.ts');
  const { loaded, readAt, atRestart, refused } = context.configuration;
  const { config } = context;
  const settings = effectiveSettingsOf(loaded, config);
  // Flags of the command line outweigh the file.
  const [server, log] = [settings['server'] as object, settings['log'] as object];
  const { host, port } = config.server;
  const { secretKeyFile } = config;
  return {
    object: 'configuration',
    file: loaded.file,
    read: seconds(readAt),
    settings: {
      ...settings,
      server: { ...server, host, port },
      log: { ...log, format: config.log.format },
      ...(secretKeyFile !== undefined && { secretKeyFile }),
    },
    unset: unsetIn(settings),
    sources: { ...sourcesOf(loaded, config) },
    warnings: [...loaded.warnings],
    at_restart: [...atRestart],
    refused: refused && { at: seconds(refused.at), faults: [...refused.faults] },
  };
}
