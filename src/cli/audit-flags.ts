import * as v from 'valibot';
import { field, integer } from '../schema/fields.ts';
import { administrationFlags } from './administration-flags.ts';

const text = (description: string, expects: string) =>
  v.optional(field(v.pipe(v.string(), v.nonEmpty(), v.maxLength(200)), description, { expects }));

/** Which acts are shown. */
export const auditFlags = v.strictObject({
  since: text('only acts from then on', 'as 7d, 12h, 2027-01-31 or 2027-01-31T12:00:00Z'),
  limit: v.optional(field(integer(1, 10_000), 'how many, the newest'), 50),
  account: text('only acts on this account, or by its keys', 'the name or the id of an account'),
  act: text('only acts of this name', 'as keys.create, or keys for all on keys'),
});

export const auditStoreFlags = administrationFlags;
