import type * as v from 'valibot';
import type { ObjectSchema } from '../schema/fields.ts';
import type { Actor, Subject } from '../store/audit/entry.ts';
import type { AuditTrail } from '../store/audit/log.ts';
import type { Store } from '../store/store.ts';
import type { CatalogContext } from './catalog-context.ts';

export const GROUPS = {
  accounts: 'Manage accounts: who holds credits, and on which plan',
  teams: 'Manage teams: keys of an account that share budgets',
  keys: 'Manage API keys: who may ask, for what and how often',
  providers: 'Manage providers: whose models you offer, with which API keys',
  models: 'Manage models: names, routes to providers, prices and limits',
  alerts: 'Show the latest alerts, and test the webhooks that get them',
  nodes: 'Show the daemons on the store, and daemons that died lately',
  usage: 'Show requests, tokens and credits by account, team, key, model and day',
  requests: 'Search, show and delete requests of the log',
  store: 'Check the store',
} as const;

/** How a column of a table is narrowed on a terminal that is too narrow. */
export interface Column {
  /** Least width in columns of the terminal; by default the column is not narrowed. */
  readonly minWidth?: number;
  /** Order in which columns are left out where narrowing does not suffice, the lowest first. */
  readonly dropOrder?: number;
  /** Where its texts are cut, or how they are shortened to so many columns; by default the middle is cut out. */
  readonly cut?: 'end' | ((text: string, columns: number) => string);
}

export interface AdminTable {
  /** The titles are the first row. */
  readonly rows: readonly (readonly string[])[];
  /** Without it long rows wrap. */
  readonly columns?: readonly Column[];
}

/** A result as a terminal shows it. */
export interface AdminOutput {
  /** Tables for standard output. */
  readonly tables?: readonly AdminTable[];
  /** The value that a script reads, for standard output as it is. */
  readonly value?: string;
  /** Lines for standard error. */
  readonly messages?: readonly string[];
  /** 0 where not given. */
  readonly exitCode?: number;
}

/**
 * A command that reads or changes accounts or keys. Its command line with flags, help and completion
 * and its endpoint of the local admin API derive from this record.
 */
export interface AdminCommand<
  Schema extends ObjectSchema = ObjectSchema,
  Result extends object = object,
> {
  readonly group: keyof typeof GROUPS;
  readonly name: string;
  /** Whether the command line, and the path of its endpoint, have only the name of its group. */
  readonly isTopLevel?: boolean;
  readonly summary: string;
  /** Property of the result that is a page of a list. Its options are those of a page, and `hasMore` is beside it. */
  readonly list?: string;
  /** The result, for the OpenAPI document; absent where the command is no endpoint of `/v1/admin`. */
  readonly result?: v.GenericSchema<unknown, Result>;
  /** All arguments, as text or numbers; the admin API takes the same properties as the command line. */
  readonly options: Schema;
  /** Names of the options that the command line takes by position instead of by flag. */
  readonly positionals?: readonly string[];
  /** Whether it creates the store where there is none. */
  readonly createsStore?: boolean;
  /** Command lines without the leading `oriel`, which a test runs in the order of the registry. */
  readonly examples: readonly string[];
  /** Example options of its endpoint. */
  readonly sample?: Readonly<v.InferInput<Schema>>;
  /** @returns plain JSON without secrets, except for the one that the command is there to print */
  run(store: Store, options: v.InferOutput<Schema>, catalog: CatalogContext): Promise<Result>;
  /**
   * The entry of the audit log, without secrets. A command without it changes nothing, prints no
   * secret, and is not in the log.
   *
   * @param result null before the command has run
   */
  audit?(options: v.InferOutput<Schema>, result: Result | null): Subject;
  /**
   * Warnings about arguments that are valid and probably a mistake.
   *
   * @param models the identifiers and aliases of all models of the configuration
   */
  warn?(options: v.InferOutput<Schema>, models: readonly string[]): readonly string[];
  show(result: Result, options: v.InferOutput<Schema>): AdminOutput;
}

/** Infers the types between schema, `run` and `show`, which the registry's type leaves out. */
export function defineAdminCommand<Schema extends ObjectSchema, Result extends object>(
  command: AdminCommand<Schema, Result>,
): AdminCommand<Schema, Result> {
  return command;
}

export interface AdminContext {
  readonly store: Store;
  /** Opens the audit log; called only for commands that are recorded in it. */
  readonly audit: () => Promise<AuditTrail>;
  readonly catalog: CatalogContext;
  /** The user who runs the command. */
  readonly who: Actor;
}

/** Runs a command between two lines of the audit log, or without any where it only reads. */
export async function runAdminCommand(
  command: AdminCommand,
  options: never,
  { store, audit, catalog, who }: AdminContext,
): Promise<object> {
  if (command.audit === undefined) return command.run(store, options, catalog);
  const subject = (result: object | null) => command.audit!(options, result);
  const log = await audit();
  return log.record({ act: `${command.group}.${command.name}`, who, subject }, () =>
    command.run(store, options, catalog),
  );
}
