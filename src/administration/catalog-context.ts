import * as v from 'valibot';
import type { Provider } from '../config/settings/schema.ts';
import type { FileCatalog } from '../config/stored/merge-stored.ts';
import type { Failure } from '../failure.ts';
import { field } from '../schema/fields.ts';
import type { NetworkSettings } from '../upstream/network-policy.ts';

/** How a provider is tested. */
export interface ProviderTest {
  readonly name: string;
  readonly provider: Provider;
  /** The provider's name of the model that gives a short answer; null to choose one that it offers. */
  readonly model: string | null;
  /** Dialect of the route to the model. */
  readonly dialect?: string | undefined;
  readonly network: NetworkSettings;
}

export const testFields = {
  listFault: field(v.nullable(v.string()), 'why it has no list of models'),
  model: field(v.nullable(v.string()), 'the model that was asked'),
  answer: v.nullable(v.string()),
  fault: field(v.nullable(v.string()), "the provider's words; null where it answered"),
  advice: field(v.nullable(v.string()), 'what to do'),
  milliseconds: v.number(),
};

/** What a provider answered to a test. Texts are the provider's own, without its keys. */
export interface TestReport
  extends Readonly<v.InferOutput<v.ObjectSchema<typeof testFields, undefined>>> {
  /** Names of the models that it offers; null where it has no list. */
  readonly offered: readonly string[] | null;
  /** The failure of the answer, with a key as the provider quotes it; not for results. */
  readonly cause: Failure | null;
}

export const testedWebhook = v.object({
  name: v.string(),
  isDelivered: v.boolean(),
  status: field(v.nullable(v.number()), 'status of the answer'),
  /** Why it was not delivered; null where it was. */
  error: v.nullable(v.string()),
  milliseconds: v.number(),
});

/** How a webhook answered to a test alert. */
export type TestedWebhook = Readonly<v.InferOutput<typeof testedWebhook>>;

/** What commands for providers, models and alerts need beside the store. */
export interface CatalogContext {
  /** The configuration file, which outweighs the store. */
  readonly file: FileCatalog;
  readonly network: NetworkSettings;
  /** File of the key that encrypts secrets. */
  readonly secretKeyFile: string;
  readonly testProvider: (test: ProviderTest) => Promise<TestReport>;
  /** Sends a test alert to one webhook of the configuration, or to all. @throws Failure for an unknown name */
  readonly testAlerts: (name: string | undefined) => Promise<readonly TestedWebhook[]>;
  /** Puts a change in force in this process; a process without requests has nothing to do. */
  readonly changed: () => Promise<void>;
}
