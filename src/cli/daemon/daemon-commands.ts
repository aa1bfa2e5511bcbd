import * as v from 'valibot';
import { type AdminCommand, GROUPS } from '../../administration/admin-command.ts';
import { ADMIN_COMMANDS } from '../../administration/registry.ts';
import { listRequests } from '../../administration/requests.ts';
import { fieldsOf, fromText } from '../../schema/fields.ts';
import { type CommandDefinition, type FlagGroup, helpOf } from '../command/command.ts';
import {
  adminFlags,
  auditFlags,
  backupFlags,
  configPrintFlags,
  exportFlags,
  restartFlags,
  restoreFlags,
  serveFlags,
  storeCopyFlags,
  withFlags,
} from './daemon-flags.ts';

const configFile = {
  syntax: '[file]',
  description: 'the configuration; default ORIEL_CONFIG, then oriel.yaml',
  path: true,
};

const options = (schema: FlagGroup['schema']): FlagGroup => ({ heading: 'Options:', schema });
const STORE: FlagGroup = { heading: 'Store:', schema: adminFlags };

/** Runs the daemon. */
export const serveCommand: CommandDefinition = {
  name: 'serve',
  summary: 'Run the daemon: a gateway to models, and image tools over HTTP',
  flags: [options(serveFlags)],
  notes: [
    `Signals:
  SIGTERM, SIGINT   accept no new work, finish work in progress, exit
  SIGHUP            reload the configuration, open log.file again
  SIGUSR2           replace several processes one by one, as oriel restart does`,
    `Environment:
  ORIEL_CONFIG          configuration file
  ORIEL_BOOTSTRAP_KEY   API key of the owner; otherwise one is made and printed
  ORIEL_SECRET_KEY_FILE file of the key that encrypts API keys of providers`,
  ],
  examples: ['oriel serve', 'oriel serve --config /etc/oriel/oriel.yaml --data /var/lib/oriel'],
  run: async ({ flags }, { version }) => (await import('./serve-run.ts')).runServe(flags, version),
};

/** Restarts the processes of a daemon. */
export const restartCommand: CommandDefinition = {
  name: 'restart',
  summary: 'Replace the processes of a daemon one by one, without a pause',
  flags: [options(restartFlags)],
  notes: [
    `For oriel serve with several processes (server.processes). Each process drains
once its successor is ready, so that no request is refused.`,
  ],
  examples: ['oriel restart --config /etc/oriel/oriel.yaml'],
  run: async ({ flags }) => (await import('./supervisor-run.ts')).runRestart(flags),
};

/** Runs a command beside a daemon of its own. */
export const withCommand: CommandDefinition = {
  name: 'with',
  summary: 'Run a command, such as your tests, with a throw-away daemon',
  positionals: [{ syntax: '<command...>', description: 'the command and its arguments, after --' }],
  flags: [options(withFlags)],
  passesOptions: true,
  notes: [
    `The command finds the daemon by the variables that clients read:
OPENAI_BASE_URL, OPENAI_API_KEY, ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY,
ANTHROPIC_AUTH_TOKEN, GOOGLE_GEMINI_BASE_URL, GEMINI_API_KEY, ORIEL_URL and
ORIEL_API_KEY.`,
    `Without a configuration the models are those of the sandbox. A configuration's
own store, files, listener and log are not used.`,
    `The exit code is the command's: 128 plus the number of a signal, 127 if there is
no such command, 126 if it cannot be run. It is 1 if recordings were missing.`,
  ],
  examples: ['oriel with -- npm test', 'oriel with --replay test/cassettes -- npm test'],
  run: async (input, { version }) => (await import('./with-run.ts')).runWith(input, version),
};

/** Checks and prints the daemon's configuration. */
export const configCommand: CommandDefinition = {
  name: 'config',
  summary: "Check and print the daemon's configuration",
  subcommands: [
    {
      name: 'check',
      summary: 'Check a configuration and name all its errors',
      positionals: [configFile],
      run: async (input) => (await import('./config-run.ts')).runConfigCheck(input),
    },
    {
      name: 'print',
      summary: 'Print the settings in effect, with defaults and without secrets',
      positionals: [configFile],
      flags: [options(configPrintFlags)],
      run: async (input) => (await import('./config-run.ts')).runConfigPrint(input),
    },
    {
      name: 'schema',
      summary: 'Print the JSON Schema with which editors check a configuration',
      run: async () => (await import('./config-run.ts')).runConfigSchema(),
    },
  ],
};

/** Shows the audit log. */
export const auditCommand: CommandDefinition = {
  name: 'audit',
  summary: 'Show and verify the log of changes to accounts, keys and the daemon',
  flags: [options(auditFlags), STORE],
  notes: [
    `Works whether the daemon runs or not. Exits with 1 if lines are missing or were
changed.`,
  ],
  examples: ['oriel audit --since 7d', 'oriel audit --act keys.revoke --json'],
  run: async ({ flags }) => (await import('./audit-run.ts')).runAudit(flags),
};

/** Copies a data folder while its daemon runs, and writes it back. */
export const backupCommands: readonly CommandDefinition[] = [
  {
    name: 'backup',
    summary: 'Back up the data folder, while the daemon runs or not',
    positionals: [
      {
        syntax: '<to>',
        description: 'a folder of backups, FILE.tar, or s3://BUCKET/PREFIX',
        path: true,
      },
    ],
    flags: [options(backupFlags), STORE],
    notes: [
      `Copies the store, the audit log, files of tasks and uploads, the configuration
and secret.key. Anyone with the backup can read the API keys of your providers.
A folder or a bucket gets only those files of tasks that it does not have yet.`,
      `Of a store in PostgreSQL run pg_dump first, then this for the rest. Files in a
bucket stay there. The settings backup.to and every let the daemon do the same.`,
    ],
    examples: ['oriel backup /var/backups/oriel --keep 14', 'oriel backup oriel.tar'],
    run: async (input, { version }) => (await import('./backup-run.ts')).backup(input, version),
  },
  {
    name: 'restore',
    summary: 'Verify a backup, and write it into an empty folder',
    positionals: [
      {
        syntax: '<from>',
        description: 'a backup, or a folder or a bucket of them: the newest is taken',
        path: true,
      },
    ],
    flags: [options(restoreFlags)],
    notes: [
      'Of a store in PostgreSQL restore the dump first. With that database in --config,\n' +
        'all sums are compared, and the file of each record must be in the backup.',
      'Exits with 1 if a sum does not agree with its records, or if files are missing.',
    ],
    examples: [
      'oriel restore /var/backups/oriel --dry-run',
      'oriel restore /var/backups/oriel --into data',
    ],
    run: async (input) => (await import('./backup-run.ts')).restore(input),
  },
];

/** Moves a store between one machine and a database. */
const storeCopyCommand: CommandDefinition = {
  name: 'copy',
  summary: 'Copy a store between a data folder and PostgreSQL, and verify it',
  flags: [options(storeCopyFlags)],
  notes: [
    `No daemon may use either store. Files are not copied: copy the folder assets, or
keep the bucket. Nor is the key file of providers: copy secret.key. Sessions of
the console end.`,
  ],
  examples: ['oriel store copy --from data --to env:DATABASE_URL'],
  run: async ({ flags }) => (await import('./store-copy-run.ts')).runStoreCopy(flags),
};

const { limit: _, after: __, ...conditions } = listRequests.options.entries;
const requestFlags = [options(v.strictObject(conditions)), STORE];

/** The commands of the log of requests that are not done by one answer. */
const requestCommands: readonly CommandDefinition[] = [
  {
    name: 'tail',
    summary: 'Print requests as they end; ^C ends it',
    flags: requestFlags,
    notes: ['With --json each request is a line of JSON.'],
    examples: ['oriel requests tail --status 5xx'],
    run: async ({ flags }) => (await import('./requests-run.ts')).tailRequests(flags),
  },
  {
    name: 'export',
    summary: 'Write requests as lines of JSON, newest first',
    positionals: [
      {
        syntax: '<to>',
        description: 'a file, - for standard output, or s3://BUCKET/KEY',
        path: true,
      },
    ],
    flags: [options(exportFlags), ...requestFlags],
    notes: ['A bucket needs the endpoint, region and credentials of the setting assets.'],
    examples: ['oriel requests export requests.jsonl --since 7d'],
    run: async (input) => (await import('./requests-run.ts')).exportRequests(input),
  },
];

const NOTES = ['Works whether the daemon runs or not.'];

const SECRET_NOTES = [
  `Other users may see a secret on a command line: - reads it from standard input,
and env:NAME from the environment.`,
];

const OTHERS: Readonly<Record<string, readonly CommandDefinition[]>> = {
  store: [storeCopyCommand],
  requests: requestCommands,
};

const commandsOf = (name: string) => ADMIN_COMMANDS.filter(({ group }) => group === name);

/** The commands that manage models, below the one that lists the models of a daemon. */
export const modelCommands: readonly CommandDefinition[] = commandsOf('models').map(definitionOf);

/** The commands that manage accounts, teams, keys and providers, and report their usage. */
export const adminCommands: readonly CommandDefinition[] = Object.entries(GROUPS)
  .filter(([name]) => name !== 'models')
  .map(([name, summary]) => {
    const commands = commandsOf(name);
    const [first] = commands;
    if (first?.isTopLevel) return { ...definitionOf(first), name, summary, notes: NOTES };
    const others = OTHERS[name] ?? [];
    return { name, summary, notes: NOTES, subcommands: [...commands.map(definitionOf), ...others] };
  });

/** Whether a positional argument may be left out; only the last one may. */
function isOptional({ entries }: AdminCommand['options'], name: string): boolean {
  return entries[name]?.type === 'optional';
}

function definitionOf(command: AdminCommand): CommandDefinition {
  const { name, summary, options: schema, positionals = [], examples } = command;
  const fields = positionals.map(
    (positional) => fieldsOf(schema).find((field) => field.name === positional)!,
  );
  return {
    name,
    summary,
    positionals: fields.map((field) => ({
      syntax: isOptional(schema, field.name) ? `[${field.name}]` : `<${field.name}>`,
      description: helpOf(field),
      ...{ choices: field.choices, path: field.path },
    })),
    flags: [{ ...options(schema), except: positionals }, STORE],
    notes: fieldsOf(schema).some(({ secret }) => secret) ? SECRET_NOTES : [],
    examples: examples.map((example) => `oriel ${example}`),
    async run({ positionals: values, flags }) {
      const given = fields.filter((_, index) => values[index] !== undefined);
      const typed = given.map((field, index) => [field.name, fromText(field, `${values[index]}`)]);
      const { runAdmin } = await import('./admin-run.ts');
      return runAdmin(command, Object.fromEntries(typed), flags);
    },
  };
}
