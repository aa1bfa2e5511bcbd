import type { CommandDefinition } from '../command/command.ts';
import {
  adminFlags,
  auditFlags,
  configPrintFlags,
  serveFlags,
  storeCopyFlags,
} from './daemon-flags.ts';

const configFile = {
  name: 'file',
  description: 'the configuration; ORIEL_CONFIG, then oriel.yaml, where not given',
  path: true,
} as const;

/** Runs the daemon. */
export const serveCommand: CommandDefinition = {
  name: 'serve',
  summary: 'Run the daemon: a gateway to models, and the image tools over HTTP',
  flags: [{ heading: 'Options:', schema: serveFlags }],
  notes: [
    `Signals:
  SIGTERM, SIGINT   accept no new work, finish work in progress, exit
  SIGHUP            reload the configuration`,
    `Environment:
  ORIEL_CONFIG          configuration file
  ORIEL_BOOTSTRAP_KEY   the owner's API key, instead of one that is made and printed`,
  ],
  examples: ['oriel serve', 'oriel serve --config /etc/oriel/oriel.yaml --data /var/lib/oriel'],
  async run({ flags }, { version }) {
    const { runServe } = await import('./serve-run.ts');
    return runServe(flags, version);
  },
};

/** Looks at the daemon's configuration. */
export const configCommand: CommandDefinition = {
  name: 'config',
  summary: "Look at the daemon's configuration",
  subcommands: [
    {
      name: 'check',
      summary: 'Name every fault of a configuration, or say that it is good',
      positionals: [configFile],
      async run({ positionals: [file] }) {
        const { runConfigCheck } = await import('./config-run.ts');
        return runConfigCheck(file as string | undefined);
      },
    },
    {
      name: 'print',
      summary: 'Print the configuration as it counts, defaults included and secrets hidden',
      positionals: [configFile],
      flags: [{ heading: 'Options:', schema: configPrintFlags }],
      async run({ positionals: [file], flags }) {
        const { runConfigPrint } = await import('./config-run.ts');
        return runConfigPrint(file as string | undefined, flags);
      },
    },
    {
      name: 'schema',
      summary: 'Print the JSON Schema that editors check a configuration with',
      async run() {
        const { runConfigSchema } = await import('./config-run.ts');
        return runConfigSchema();
      },
    },
  ],
};

/** Shows the audit log. */
export const auditCommand: CommandDefinition = {
  name: 'audit',
  summary: 'Show who did what to accounts, keys and the daemon, and verify that no line is missing',
  flags: [
    { heading: 'Options:', schema: auditFlags },
    { heading: 'Store:', schema: adminFlags },
  ],
  notes: ['Whether the daemon runs or not. Exits with 1 where lines are missing or were changed.'],
  examples: ['oriel audit --since 7d', 'oriel audit --act keys.revoke --json'],
  async run({ flags }) {
    const { runAudit } = await import('./audit-run.ts');
    return runAudit(flags);
  },
};

/** Moves a store between one machine and a database. */
export const storeCopyCommand: CommandDefinition = {
  name: 'copy',
  summary: 'Copy a store between a data folder and PostgreSQL, and compare every sum',
  flags: [{ heading: 'Options:', schema: storeCopyFlags }],
  notes: [
    'Both stores must be at rest. Files stay where they are: copy the folder assets, or keep the bucket. Sessions of the console end.',
  ],
  examples: ['oriel store copy --from data --to env:DATABASE_URL'],
  async run({ flags }) {
    const { runStoreCopy } = await import('./store-copy-run.ts');
    return runStoreCopy(flags);
  },
};
