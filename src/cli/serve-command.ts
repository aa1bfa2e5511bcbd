import { Command } from 'commander';
import { addFlags } from './flags.ts';
import { serveFlags } from './serve-flags.ts';

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
