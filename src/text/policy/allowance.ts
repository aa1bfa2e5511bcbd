import type { TextModel } from '../../config/catalog/catalog.ts';
import type { Failure } from '../../failure.ts';
import { invalid } from '../../schema/invalid.ts';
import { OWNER } from '../../store/account.ts';
import { type Feature, HOSTED_TOOLS, OWNER_FEATURES, REFERENCES } from '../../store/features.ts';
import type { KeyHolder } from '../../store/store.ts';
import type { Inspection, Use } from '../dialects/inspection.ts';
import { isWithin } from './paths.ts';

const STORED: readonly string[] = REFERENCES;

const OWNED: readonly string[] = OWNER_FEATURES;

/** Features by which a provider adds input to a request. */
const ADDING: readonly string[] = [
  ...[...REFERENCES, 'compaction', 'unknown'],
  // The client has the computer.
  ...HOSTED_TOOLS.filter((name) => name !== 'computer_use'),
];

/** The features that one account may use of a model's providers. */
export class Allowance {
  readonly #model: string;
  /** Identifiers of stored objects that the account has received. */
  #given: ReadonlySet<string> = new Set();
  /** Features of the model and of the key. */
  readonly #features: readonly (readonly string[])[];
  readonly #isOwner: boolean;

  /** @param id the model's public identifier */
  constructor(id: string, { allow = [] }: TextModel, { key, account }: KeyHolder) {
    this.#model = id;
    this.#features = [allow, key.allow ?? []];
    this.#isOwner = account.name === OWNER;
  }

  /**
   * Identifiers of stored objects that may be named by the account that has received them alone. Those of items
   * are looked up for the owner too, whose conversations may come from another server.
   */
  referencesIn({ uses }: Inspection): readonly string[] {
    const ids = new Set<string>();
    for (const { feature, id } of uses) {
      if (id === null || !STORED.includes(feature) || this.#opens(feature)) continue;
      if (feature === 'item_reference' || !this.allows(feature)) ids.add(id);
    }
    return [...ids];
  }

  /** @param given identifiers of stored objects that the account has received */
  permitReferences(given: ReadonlySet<string>): void {
    this.#given = given;
  }

  allows(feature: Feature): boolean {
    return (this.#isOwner && OWNED.includes(feature)) || this.#opens(feature);
  }

  /** Whether the operator allows a feature by the model or the key. */
  #opens(feature: Feature): boolean {
    return this.#features.some((some) => some.includes(feature));
  }

  /**
   * Whether the provider knows an item, as far as this server can tell: the account received it, or the operator
   * allows items from elsewhere.
   */
  vouchesFor({ feature, id }: Use, isShared: boolean): boolean {
    return !isShared || this.#opens(feature) || (id !== null && this.#given.has(id));
  }

  /**
   * Refuses a request that uses a feature without permission.
   *
   * @param isShared whether the provider's account serves several clients
   * @param unsent paths of fields that the provider is not sent
   * @throws Failure invalid_request, code `not_allowed`
   */
  check(inspection: Inspection, isShared: boolean, unsent: ReadonlySet<string> = new Set()): void {
    const refused = inspection.uses.find(
      (use) => !this.permits(use, isShared) && !isWithin(use.path, unsent),
    );
    if (refused) throw this.#refusal(refused);
  }

  /** Whether a permitted feature lets the provider add input to the request. */
  addsInput({ uses }: Inspection, isShared: boolean): boolean {
    return uses.some((use) => ADDING.includes(use.feature) && this.permits(use, isShared));
  }

  /** Whether the account may use a feature. @param isShared whether the provider's account serves several clients */
  permits({ feature, id }: Use, isShared: boolean): boolean {
    if (this.allows(feature)) return true;
    if (!STORED.includes(feature)) return false;
    return !isShared || (id !== null && this.#given.has(id));
  }

  #refusal({ feature, path, id }: Use): Failure {
    const remedy = `the operator of this server can allow it (models.${this.#model}.allow, or keys create --allow ${feature})`;
    const why =
      id !== null && STORED.includes(feature)
        ? 'names what is stored at the provider and was not given to this account here'
        : 'not allowed';
    return invalid(path, `${feature}: ${why}; ${remedy}`, 'not_allowed');
  }
}
