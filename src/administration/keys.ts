import * as v from 'valibot';
import { field, integer } from '../schema/fields.ts';
import { matchesPattern } from '../schema/pattern.ts';
import { toCredits } from '../store/credits.ts';
import { defineAdminCommand } from './admin-command.ts';
import {
  accountReference,
  credits,
  expiry,
  features,
  keyReference,
  models,
  newName,
} from './fields.ts';
import { requireAccount, requireKey } from './find.ts';
import { type KeyRecord, keyRecord } from './records.ts';
import { keyTable } from './tables.ts';

const describe = ({ id, name, account }: KeyRecord) => `key ${id} (${name}) of account ${account}`;

/** A key's identifier, or its beginning. Bootstrap keys are longer. */
const KEY_ID = /^key_[A-Za-z0-9]{0,20}$/;

const createKey = defineAdminCommand({
  group: 'keys',
  name: 'create',
  summary: 'Make an API key; it is printed this once and kept nowhere',
  positionals: [],
  options: v.strictObject({
    account: accountReference('the account that pays for what it does'),
    name: v.optional(newName('what it is called'), 'unnamed'),
    expires: v.optional(expiry('when it ends')),
    models: v.optional(
      models(
        'the only models that it may name, as their aliases or patterns such as claude-* do too',
      ),
    ),
    allow: v.optional(features('what its requests may ask of providers beyond metered text')),
    rpm: v.optional(field(integer(1, 1_000_000), "requests in a minute, instead of its plan's")),
    budget: v.optional(credits('what it may spend in all', '0.000001')),
  }),
  examples: ['keys create --account ci --name builds --expires 90d --rpm 60 --budget 50'],
  run: async (store, options) => {
    // Imported here, because every start of the command line loads this file.
    const { hashOf, hintOf, newKey } = await import('../store/key.ts');
    const account = await requireAccount(store, options.account);
    const key = newKey();
    const created = await store.createKey({
      accountId: account.id,
      name: options.name,
      hash: hashOf(key),
      hint: hintOf(key),
      expiresAt: options.expires ?? null,
      models: options.models ?? null,
      ...(options.allow && { allow: options.allow }),
      rpm: options.rpm ?? null,
      budget: options.budget ?? null,
    });
    return { ...keyRecord(created, account), key };
  },
  audit: ({ account, name, expires, models: named, rpm, budget }, created) => ({
    object: created?.id ?? name,
    details: {
      account: created?.account ?? account,
      name,
      expires: expires === undefined ? undefined : new Date(expires).toISOString(),
      models: named,
      rpm,
      budget: budget === undefined ? undefined : toCredits(budget),
    },
  }),
  warn: ({ models: named = [] }, models) =>
    named
      .filter(
        (name) => !models.some((one) => matchesPattern(one, name) || matchesPattern(name, one)),
      )
      .map((name) => `the configuration has no model ${JSON.stringify(name)}`),
  show: ({ key, ...record }) => ({
    value: key,
    messages: [`${describe(record)}; it is shown this once`],
  }),
});

const listKeys = defineAdminCommand({
  group: 'keys',
  name: 'list',
  summary: 'List API keys, of one account or of all',
  positionals: [],
  options: v.strictObject({
    account: v.optional(accountReference('only the keys of this account')),
  }),
  examples: ['keys list --account ci'],
  run: async (store, { account }) => {
    const only = account === undefined ? undefined : await requireAccount(store, account);
    const accounts = new Map((await store.listAccounts()).map((one) => [one.id, one]));
    const keys = await store.listKeys(only?.id);
    return { keys: keys.map((key) => keyRecord(key, accounts.get(key.accountId))) };
  },
  show: ({ keys }) => ({ tables: [keyTable(keys)] }),
});

const revokeKey = defineAdminCommand({
  group: 'keys',
  name: 'revoke',
  summary: 'End an API key, at once and for ever',
  positionals: ['id'],
  options: v.strictObject({
    id: keyReference('its id or the beginning of it, its hint, or the key itself'),
  }),
  examples: [],
  run: async (store, { id }) => {
    const { hashOf } = await import('../store/key.ts');
    const key = await requireKey(store, id, hashOf(id));
    const account = await store.findAccount(key.accountId);
    return keyRecord(await store.revokeKey(key.id), account);
  },
  audit: ({ id }, key) => ({
    // The argument may be the key itself, which must not get into the log.
    object: key?.id ?? (KEY_ID.test(id) ? id : `${id.slice(0, 4)}…${id.slice(-4)}`),
    details: { account: key?.account, name: key?.name },
  }),
  show: (key) => ({ messages: [`${describe(key)} is revoked`] }),
});

export const KEY_COMMANDS = [createKey, listKeys, revokeKey];
