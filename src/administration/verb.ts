import type * as v from 'valibot';
import type { ObjectSchema } from '../schema/fields.ts';
import type { Subject } from '../store/audit/entry.ts';
import type { Store } from '../store/store.ts';

export const GROUPS = {
  accounts: 'Manage accounts: who holds credits, and on which plan',
  keys: 'Manage API keys: who may ask, for what and how often',
} as const;

/** What a result looks like to people. */
export interface Shown {
  /** Tables for standard output, each with its titles as the first row. */
  readonly tables?: readonly (readonly (readonly string[])[])[];
  /** The one thing that a script wants of it, for standard output as it is. */
  readonly value?: string;
  /** What is said beside it, on standard error. */
  readonly said?: readonly string[];
}

/**
 * One thing that can be done to accounts or keys. The command with its flags, help and completion,
 * and the endpoint of the local admin API all derive from this record.
 */
export interface Verb<Schema extends ObjectSchema = ObjectSchema, Result extends object = object> {
  readonly group: keyof typeof GROUPS;
  readonly name: string;
  readonly summary: string;
  /** All that it takes, as text or numbers: what is typed is also what the admin API is sent. */
  readonly options: Schema;
  /** Those of `options` that the command line takes by place rather than by flag, in their order. */
  readonly places: readonly string[];
  /** Whether it makes sense where there is no store yet, and so makes one. */
  readonly founds?: boolean;
  /** Command lines without the leading `oriel`, which a test runs in the order of the registry. */
  readonly examples: readonly string[];
  /** The result is plain JSON and holds no secret, but for one that the verb is there to tell. */
  run(store: Store, options: v.InferOutput<Schema>): Promise<Result>;
  /**
   * What the audit log records of it, without secrets. A verb without it changes nothing, shows no
   * secret, and is not in the log.
   *
   * @param result null before it is done
   */
  audit?(options: v.InferOutput<Schema>, result: Result | null): Subject;
  /**
   * What is legal and yet hardly meant.
   *
   * @param models the identifiers of all models of the configuration
   */
  warn?(options: v.InferOutput<Schema>, models: readonly string[]): readonly string[];
  show(result: Result): Shown;
}

/** Keeps the types between schema, `run` and `show`; the registry holds what comes out. */
export function defineVerb<Schema extends ObjectSchema, Result extends object>(
  verb: Verb<Schema, Result>,
): Verb<Schema, Result> {
  return verb;
}
