import * as v from 'valibot';
import { field, integer } from '../schema.ts';

/** Flags that stand above what the configuration says. */
export const serveFlags = v.strictObject({
  config: v.optional(
    field(v.string(), 'configuration file; oriel.yaml where there is one', { path: true }),
  ),
  host: v.optional(field(v.string(), 'address to listen on')),
  port: v.optional(field(integer(0, 65_535), 'port to listen on; 0 for any that is free')),
  data: v.optional(
    field(v.string(), 'folder that holds everything Oriel remembers', { path: true }),
  ),
  logFormat: v.optional(
    field(v.picklist(['auto', 'pretty', 'json']), 'how the log on standard output looks'),
  ),
});
