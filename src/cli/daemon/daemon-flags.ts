import * as v from 'valibot';
import { field, integer } from '../../schema/fields.ts';

const path = (description: string, expects: string) =>
  v.optional(field(v.pipe(v.string(), v.nonEmpty()), description, { expects, path: true }));

const text = (description: string, expects: string) =>
  v.optional(field(v.pipe(v.string(), v.nonEmpty(), v.maxLength(200)), description, { expects }));

const json = (description: string) => v.optional(field(v.boolean(), description), false);

const store = {
  config: path('configuration; oriel.yaml where there is one', 'a file'),
  data: path('folder that holds everything Oriel remembers', 'a folder'),
};

/** Flags that override the configuration. */
export const serveFlags = v.strictObject({
  ...store,
  host: v.optional(
    field(v.pipe(v.string(), v.nonEmpty()), 'address to listen on', { expects: 'an address' }),
  ),
  port: v.optional(field(integer(0, 65_535), 'port to listen on; 0 for any that is free')),
  acceptClock: v.optional(
    field(v.boolean(), 'believe a clock that is more than a day ahead of the newest record'),
    false,
  ),
  newStore: v.optional(
    field(v.boolean(), 'begin a new store in a data folder whose store is gone'),
    false,
  ),
  dev: v.optional(
    field(v.boolean(), 'accept any ORIEL_BOOTSTRAP_KEY, for a daemon on your own machine'),
    false,
  ),
  logFormat: v.optional(
    field(v.picklist(['auto', 'pretty', 'json']), 'how the log on standard output looks'),
  ),
});

/** The store that an administration command works on, and the format of its result. */
export const adminFlags = v.strictObject({ ...store, json: json('print the result as JSON') });

const place = (description: string) =>
  field(v.pipe(v.string(), v.nonEmpty()), description, {
    expects: 'a data folder, a URL as postgres://host/database?schema=oriel, or env:NAME of one',
    path: true,
  });

/** The stores that `oriel store copy` reads and writes. */
export const storeCopyFlags = v.strictObject({
  from: place('the store to copy, which no daemon uses'),
  to: place('an empty store'),
  json: json('print the result as JSON'),
});

/** The acts that `oriel audit` shows. */
export const auditFlags = v.strictObject({
  since: text('only acts from then on', 'as 7d, 12h, 2027-01-31 or 2027-01-31T12:00:00Z'),
  limit: v.optional(field(integer(1, 10_000), 'how many, the newest'), 50),
  account: text('only acts on this account, or by its keys', 'the name or the id of an account'),
  act: text('only acts of this name', 'as keys.create, or keys for all on keys'),
});

export const configPrintFlags = v.strictObject({ json: json('print JSON instead of YAML') });
