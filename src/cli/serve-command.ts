import { Command } from 'commander';
import * as v from 'valibot';
import { field, integer } from '../schema.ts';
import { addFlags } from './flags.ts';

/** Flags that stand above what the configuration says. */
export const serveFlags = v.strictObject({
  config: v.optional(field(v.string(), 'configuration file; oriel.yaml where there is one')),
  host: v.optional(field(v.string(), 'address to listen on')),
  port: v.optional(field(integer(0, 65_535), 'port to listen on; 0 for any that is free')),
  data: v.optional(field(v.string(), 'folder that holds everything Oriel remembers')),
  logFormat: v.optional(
    field(v.picklist(['auto', 'pretty', 'json']), 'how the log on standard output looks'),
  ),
});

/** The command that runs the daemon. */
export function serveCommand(version: string, finish: (exitCode: number) => void): Command {
  const command = new Command('serve').description(
    'Run the daemon: a gateway to models, and the image tools over HTTP',
  );
  addFlags(command, serveFlags, 'Options:');
  command.addHelpText(
    'after',
    `
Signals:
  SIGTERM, SIGINT   take nothing new, finish what is under way, end
  SIGHUP            read the configuration again

Environment:
  ORIEL_CONFIG          configuration file
  ORIEL_BOOTSTRAP_KEY   the owner's API key, instead of one that is made and printed

Examples:
  oriel serve
  oriel serve --config /etc/oriel/oriel.yaml --data /var/lib/oriel`,
  );
  return command.action(async (flags: Record<string, unknown>) => {
    const { runServe } = await import('./serve-run.ts');
    finish(await runServe(flags, version));
  });
}
