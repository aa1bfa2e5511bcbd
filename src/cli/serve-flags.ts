import * as v from 'valibot';
import { field, integer } from '../schema/fields.ts';
import { storeFlags } from './store-flags.ts';

/** Flags that stand above what the configuration says. */
export const serveFlags = v.strictObject({
  ...storeFlags,
  host: v.optional(
    field(v.pipe(v.string(), v.nonEmpty()), 'address to listen on', { expects: 'an address' }),
  ),
  port: v.optional(field(integer(0, 65_535), 'port to listen on; 0 for any that is free')),
  acceptClock: v.optional(
    field(v.boolean(), 'believe a clock that is more than a day ahead of the newest record'),
    false,
  ),
  logFormat: v.optional(
    field(v.picklist(['auto', 'pretty', 'json']), 'how the log on standard output looks'),
  ),
});
