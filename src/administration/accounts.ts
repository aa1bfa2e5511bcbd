import * as v from 'valibot';
import { field, withDefault } from '../schema/fields.ts';
import { PLANS } from '../store/account.ts';
import { decimal, toCredits } from '../store/credits.ts';
import type { Selection } from '../store/selection.ts';
import { defineAdminCommand } from './admin-command.ts';
import { accountReference, credits, keptBodiesOrDefault, newName, note } from './fields.ts';
import { requireAccount } from './find.ts';
import { MAX_PAGE, pageOptions, readPage, shownPage } from './pages.ts';
import {
  type AccountRecord,
  accountRecord,
  accountShape,
  keyRecords,
  keyShape,
} from './records.ts';
import { accountTable, keyTable } from './tables.ts';

const plan = field(v.picklist(PLANS), 'plan of the account');

const secretShape = v.object({ id: v.string(), name: v.string(), secret: v.string() });

const balance = ({ name, credits: { available } }: AccountRecord) =>
  `account ${name} has ${decimal(available)} credits to spend`;

/** The audit entry of an act on an account. */
const actOn = (
  named: string,
  account: { readonly id: string; readonly name: string } | null,
  details: object = {},
) => ({ object: account?.name ?? named, details: { ...details, id: account?.id } });

const name = accountReference('the account');

const createAccount = defineAdminCommand({
  group: 'accounts',
  name: 'create',
  summary: 'Create an account',
  positionals: ['name'],
  createsStore: true,
  options: v.strictObject({
    name: newName('name of the account; unique'),
    plan: v.optional(plan, 'free'),
    credits: v.optional(credits('credits to start with', '0'), '0'),
  }),
  result: accountShape,
  examples: ['accounts create ci --plan paid --credits 1000'],
  sample: { name: 'ci', plan: 'paid', credits: '1000' },
  run: async (store, account) => accountRecord(await store.createAccount(account)),
  audit: ({ name, plan: assigned, credits: sum }, account) => ({
    object: name,
    details: { plan: assigned, credits: toCredits(sum), id: account?.id },
  }),
  show: (account) => ({
    messages: [`account ${account.name} made: ${account.plan}`, balance(account)],
  }),
});

const listAccounts = defineAdminCommand({
  group: 'accounts',
  name: 'list',
  summary: 'List accounts with their credits, in the order of creation',
  options: v.strictObject(pageOptions),
  list: 'accounts',
  result: v.object({ accounts: v.array(accountShape), hasMore: v.boolean() }),
  examples: ['accounts list', 'accounts list --limit 20'],
  run: async (store, page) => {
    const { items, hasMore } = await readPage((part) => store.listAccounts(part), page);
    return { accounts: items.map(accountRecord), hasMore };
  },
  show: ({ accounts, hasMore }) => shownPage(accountTable, accounts, hasMore),
});

const showAccount = defineAdminCommand({
  group: 'accounts',
  name: 'show',
  summary: 'Show an account: its plan, its credits and its keys',
  positionals: ['name'],
  options: v.strictObject({ name }),
  result: v.object({
    ...accountShape.entries,
    keys: v.pipe(v.array(keyShape), v.maxLength(MAX_PAGE)),
    hasMoreKeys: v.boolean(),
  }),
  examples: ['accounts show ci --json'],
  sample: { name: 'owner' },
  run: async (store, { name }) => {
    const account = await requireAccount(store, name);
    const list = (part: Selection) => store.listKeys(account.id, part);
    const { items, hasMore } = await readPage(list, {});
    return {
      ...accountRecord(account),
      keys: await keyRecords(store, items),
      hasMoreKeys: hasMore,
    };
  },
  show: ({ keys, hasMoreKeys, ...account }) => ({
    tables: [accountTable([account]), ...(keys.length > 0 ? [keyTable(keys)] : [])],
    messages: hasMoreKeys
      ? [`these are the first ${MAX_PAGE} keys: oriel keys list --account ${account.name}`]
      : [],
  }),
});

const grantCredits = defineAdminCommand({
  group: 'accounts',
  name: 'grant',
  summary: 'Grant credits to an account',
  positionals: ['name', 'credits'],
  options: v.strictObject({
    name,
    credits: credits('credits to add', '0.000001'),
    note: v.optional(note("note for the account's ledger")),
  }),
  result: accountShape,
  examples: ['accounts grant ci 12.5 --note "invoice 7"'],
  sample: { name: 'ci', credits: '12.5', note: 'invoice 7' },
  run: async (store, options) => {
    const { id } = await requireAccount(store, options.name);
    return accountRecord(await store.grant(id, options.credits, options.note));
  },
  audit: (options, account) =>
    actOn(options.name, account, { credits: toCredits(options.credits), note: options.note }),
  show: (account) => ({ messages: [balance(account)] }),
});

const setPlan = defineAdminCommand({
  group: 'accounts',
  name: 'set-plan',
  summary: 'Change the plan of an account, and of its keys at once',
  positionals: ['name', 'plan'],
  options: v.strictObject({ name, plan }),
  result: accountShape,
  examples: ['accounts set-plan ci free'],
  sample: { name: 'ci', plan: 'free' },
  run: async (store, options) => {
    const { id } = await requireAccount(store, options.name);
    return accountRecord(await store.setPlan(id, options.plan));
  },
  audit: (options, account) => actOn(options.name, account, { plan: options.plan }),
  show: ({ name, plan: current }) => ({
    messages: [`account ${name} is on the plan ${current}`],
  }),
});

const setBodies = defineAdminCommand({
  group: 'accounts',
  name: 'set-bodies',
  summary: 'Set which bodies of requests of an account the log keeps',
  positionals: ['name', 'bodies'],
  options: v.strictObject({
    name,
    bodies: keptBodiesOrDefault('off, errors, all, or default for the setting of the model'),
  }),
  result: accountShape,
  examples: ['accounts set-bodies ci errors'],
  sample: { name: 'ci', bodies: 'errors' },
  run: async (store, options) => {
    const { id } = await requireAccount(store, options.name);
    return accountRecord(await store.setBodies(id, options.bodies));
  },
  audit: (options, account) =>
    actOn(options.name, account, { bodies: options.bodies ?? 'default' }),
  show: ({ name, bodies = 'default' }) => ({
    messages: [`bodies of requests of account ${name}: ${bodies}`],
  }),
});

const showCallbackSecret = defineAdminCommand({
  group: 'accounts',
  name: 'callback-secret',
  summary: "Print the secret that signs an account's callbacks",
  positionals: ['name'],
  options: v.strictObject({ name }),
  result: secretShape,
  examples: ['accounts callback-secret ci'],
  sample: { name: 'ci' },
  run: async (store, options) => {
    const { id, name, callbackSecret } = await requireAccount(store, options.name);
    return { id, name, secret: callbackSecret };
  },
  audit: (options, account) => actOn(options.name, account),
  show: ({ secret }) => ({ value: secret }),
});

const rotateCallbackSecret = defineAdminCommand({
  group: 'accounts',
  name: 'rotate-callback-secret',
  summary: "Replace the secret that signs an account's callbacks",
  positionals: ['name'],
  options: v.strictObject({
    name,
    dropPrevious: withDefault(
      v.boolean(),
      false,
      'stop signing with the old secret at once, instead of after callbacks.secretOverlap',
    ),
  }),
  result: v.object({ ...secretShape.entries, previousDropped: v.boolean() }),
  examples: ['accounts rotate-callback-secret ci'],
  sample: { name: 'ci' },
  run: async (store, options) => {
    const account = await requireAccount(store, options.name);
    const { id, name, callbackSecret } = await store.rotateCallbackSecret(
      account.id,
      options.dropPrevious,
    );
    return { id, name, secret: callbackSecret, previousDropped: options.dropPrevious };
  },
  audit: ({ name: named, dropPrevious }, account) => actOn(named, account, { dropPrevious }),
  show: ({ name, secret, previousDropped }) => ({
    value: secret,
    messages: [
      previousDropped
        ? `callbacks of account ${name} are signed with this secret alone`
        : `callbacks of account ${name} are signed with the old secret as well, for callbacks.secretOverlap`,
    ],
  }),
});

export const ACCOUNT_COMMANDS = [
  createAccount,
  listAccounts,
  showAccount,
  grantCredits,
  setPlan,
  setBodies,
  showCallbackSecret,
  rotateCallbackSecret,
];
