import * as v from 'valibot';
import { integer, optional } from '../schema/fields.ts';
import { matchesPattern } from '../schema/pattern.ts';
import { type ApiKey, IMAGE_ANSWERS, KEPT_BODIES, type KeyChange } from '../store/account.ts';
import type { WindowLimits } from '../store/budgets.ts';
import type { Selection } from '../store/selection.ts';
import type { Store } from '../store/store.ts';
import { defineAdminCommand } from './admin-command.ts';
import {
  defined,
  limitDetails,
  limitOptions,
  removedBy,
  requireChange,
  windowsFrom,
} from './budget-options.ts';
import * as fields from './fields.ts';
import { accountIdOf, requireAccount, requireKey, requireTeam } from './find.ts';
import { pageOptions, readPage, shownPage } from './pages.ts';
import { type KeyRecord, keyRecords, keyShape } from './records.ts';
import { keyTable } from './tables.ts';

const describe = ({ id, name, account }: KeyRecord) => `key ${id} (${name}) of account ${account}`;

/** A key's identifier, or its beginning. Bootstrap keys are longer. */
const KEY_ID = /^key_[A-Za-z0-9]{0,20}$/;

const recordOf = async (store: Store, key: ApiKey) => (await keyRecords(store, [key]))[0]!;

/** A time in the audit log. */
const timeText = (time: number | null | undefined) =>
  typeof time === 'number' ? new Date(time).toISOString() : removedBy(time, 'never');

const IMAGES =
  'answer to image requests without response_format: the task, or images as OpenAI returns them';

const CACHE = 'how long equal requests get the recorded answer; the time of the model by default';

const BODIES = 'bodies that the log of requests keeps; the setting of the account by default';

const RPM = "requests per minute; the plan's limit by default";

const id = fields.keyReference('the key');

const MODELS = 'models that the key may use, by name, alias or pattern such as claude-*';

const unknownModels = (named: readonly string[], models: readonly string[]) =>
  named
    .filter((name) => !models.some((one) => matchesPattern(one, name) || matchesPattern(name, one)))
    .map((name) => `the configuration has no model ${JSON.stringify(name)}`);

/** A reference to a key for the audit log. It may be the key itself, which must not get into the log. */
const referenceText = (id: string) => (KEY_ID.test(id) ? id : `${id.slice(0, 4)}…${id.slice(-4)}`);

/** What can be changed of a key. */
const changes = {
  name: v.optional(fields.newName('name')),
  expires: v.optional(fields.expiryOrNever('expiry')),
  models: v.optional(fields.modelsOrAll(MODELS)),
  allow: v.optional(
    fields.featuresOrNone('provider features that the key may use beyond metered text'),
  ),
  images: v.optional(fields.imageAnswerOrDefault(IMAGES)),
  cache: v.optional(fields.cacheTimeOrDefault(CACHE)),
  bodies: v.optional(fields.keptBodiesOrDefault(BODIES)),
  rpm: v.optional(fields.rpmOrPlan(RPM)),
  budget: v.optional(fields.budget('total budget of the key')),
  ...limitOptions,
  team: v.optional(fields.teamOrNone('team whose budgets apply too')),
};

type Changes = v.InferOutput<v.ObjectSchema<typeof changes, undefined>>;

/** The options as they are in the audit log. */
const detailsOf = (given: Changes) => ({
  name: given.name,
  expires: timeText(given.expires),
  models: removedBy(given.models, 'all'),
  allow: removedBy(given.allow, 'none'),
  images: removedBy(given.images, 'default'),
  cache: removedBy(given.cache, 'default'),
  bodies: removedBy(given.bodies, 'default'),
  rpm: removedBy(given.rpm, 'plan'),
  team: removedBy(given.team, 'none'),
  ...limitDetails(given),
});

/** The fields of a key that the options give. Null removes a field. */
async function fieldsOf(
  store: Store,
  accountId: string,
  options: Changes,
  windows?: WindowLimits,
): Promise<KeyChange> {
  const { name, expires: expiresAt, models, allow, images, cache, bodies, rpm, team } = options;
  const { budget, tpm, parallel } = options;
  return defined({
    ...{ name, expiresAt, models, allow, images, cache, bodies, rpm, budget, tpm, parallel },
    windows: windowsFrom(options, windows),
    teamId: typeof team === 'string' ? (await requireTeam(store, team, accountId)).id : team,
  });
}

const createKey = defineAdminCommand({
  group: 'keys',
  name: 'create',
  summary: 'Create an API key and print it, which happens only once',
  options: v.strictObject({
    account: fields.accountReference('the account that pays for the key'),
    ...changes,
    name: v.optional(fields.newName('name'), 'unnamed'),
    images: optional(v.picklist(IMAGE_ANSWERS), IMAGES),
    bodies: optional(v.picklist(KEPT_BODIES), BODIES),
    rpm: optional(integer(1, 1_000_000), RPM),
  }),
  result: v.object({ ...keyShape.entries, key: v.string() }),
  examples: ['keys create --account ci --name builds --expires 90d --rpm 60 --budget 50'],
  sample: { account: 'ci', name: 'builds', expires: '90d', rpm: 60, budget: '50' },
  run: async (store, options) => {
    // Imported here, because every start of the command line loads this file.
    const { hashOf, hintOf, newKey } = await import('../store/key.ts');
    const { id: accountId } = await requireAccount(store, options.account);
    const given = Object.entries(await fieldsOf(store, accountId, options));
    const key = newKey();
    const created = await store.createKey({
      ...{ accountId, name: options.name, hash: hashOf(key), hint: hintOf(key) },
      ...{ expiresAt: null, models: null, rpm: null, budget: null },
      // A word that removes a setting leaves it out of a new key.
      ...Object.fromEntries(given.filter(([, value]) => value !== null)),
    });
    return { ...(await recordOf(store, created)), key };
  },
  audit: ({ account, ...given }, created) => ({
    object: created?.id ?? given.name,
    details: { account: created?.account ?? account, ...detailsOf(given) },
  }),
  warn: ({ models: named }, models) => unknownModels(named ?? [], models),
  show: ({ key, ...record }) => ({
    value: key,
    messages: [`${describe(record)}; it is shown this once`],
  }),
});

const listKeys = defineAdminCommand({
  group: 'keys',
  name: 'list',
  summary: 'List API keys, of one account or of all, in the order of creation',
  options: v.strictObject({
    account: v.optional(fields.accountReference('only the keys of this account')),
    ...pageOptions,
  }),
  list: 'keys',
  result: v.object({ keys: v.array(keyShape), hasMore: v.boolean() }),
  examples: ['keys list --account ci'],
  run: async (store, { account, ...page }) => {
    const accountId = await accountIdOf(store, account);
    const list = (part: Selection) => store.listKeys(accountId, part);
    const { items, hasMore } = await readPage(list, page);
    return { keys: await keyRecords(store, items), hasMore };
  },
  show: ({ keys, hasMore }) => shownPage(keyTable, keys, hasMore),
});

const setKey = defineAdminCommand({
  group: 'keys',
  name: 'set',
  summary: "Change an API key's budgets, models, team, name or expiry, from its next request on",
  positionals: ['id'],
  options: v.strictObject({ id, ...changes }),
  result: keyShape,
  examples: [],
  sample: { id: 'key_Ab3dEf5hJk', budget: '50' },
  run: async (store, options) => {
    requireChange(options, ['id']);
    const key = await requireKey(store, options.id);
    const changed = await fieldsOf(store, key.accountId, options, key.windows);
    return recordOf(store, await store.updateKey(key.id, changed));
  },
  audit: ({ id, ...given }, key) => ({
    object: key?.id ?? referenceText(id),
    details: { account: key?.account, ...detailsOf(given) },
  }),
  warn: ({ models: named }, models) => unknownModels(named ?? [], models),
  show: (key) => ({ messages: [`${describe(key)} is changed`] }),
});

const revokeKey = defineAdminCommand({
  group: 'keys',
  name: 'revoke',
  summary: 'Revoke an API key, at once and permanently',
  positionals: ['id'],
  options: v.strictObject({ id }),
  result: keyShape,
  examples: [],
  sample: { id: 'key_Ab3dEf5hJk' },
  run: async (store, { id }) => {
    const key = await requireKey(store, id);
    return recordOf(store, await store.revokeKey(key.id));
  },
  audit: ({ id }, key) => ({
    object: key?.id ?? referenceText(id),
    details: { account: key?.account, name: key?.name },
  }),
  show: (key) => ({ messages: [`${describe(key)} is revoked`] }),
});

export const KEY_COMMANDS = [createKey, listKeys, setKey, revokeKey];
