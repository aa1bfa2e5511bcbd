import * as v from 'valibot';
import { integer, optional, rule, withDefault } from '../../schema/fields.ts';
import { ONCE, postgresUrl } from '../fields/text.ts';

const URL_EXPECTS =
  'a URL such as postgres://user:password@host:5432/database, with the password percent-encoded';

const unchecked = () =>
  v.strictObject({
    driver: withDefault(
      v.picklist(['lowdb', 'postgres']),
      'lowdb',
      'Store of accounts, keys, credits and tasks: lowdb (in dataDir/store, for one daemon) ' +
        'or postgres (a database that several daemons can share). The other settings are for ' +
        'postgres.',
      ONCE,
    ),
    url: optional(postgresUrl(), 'PostgreSQL (15 or later), or a pgbouncer in front of it.', {
      ...ONCE,
      secret: 'url',
      example: `postgres://oriel:\${POSTGRES_PASSWORD}@127.0.0.1:5432/oriel`,
      expects: URL_EXPECTS,
    }),
    listenUrl: optional(
      postgresUrl(),
      'A direct connection to the same database, for notifications. Set it if url leads to a ' +
        'pooler in transaction mode: without notifications, nodes see changes of others within ' +
        'a second instead of at once. Unset: url.',
      {
        ...ONCE,
        secret: 'url',
        example: `postgres://oriel:\${POSTGRES_PASSWORD}@127.0.0.1:5432/oriel`,
        expects: URL_EXPECTS,
      },
    ),
    poolSize: withDefault(
      integer(2, 1000),
      8,
      'Connections of this daemon, in addition to one for notifications. The database must accept the connections of all nodes.',
      ONCE,
    ),
    schema: withDefault(
      v.pipe(
        v.string(),
        v.regex(/^[a-z_][a-z0-9_]{0,62}$/),
        v.check((name) => !name.startsWith('pg_')),
      ),
      'oriel',
      'Schema of the tables. The first start creates it.',
      { ...ONCE, expects: 'at most 63 of a-z, 0-9 and _, not beginning with a digit or pg_' },
    ),
  });

type StoreSettings = v.InferOutput<ReturnType<typeof unchecked>>;

/** The setting that does not fit to the driver, and what is expected of it. */
function faultOf({ driver, url, listenUrl }: StoreSettings): readonly [string, string] | null {
  if (driver === 'postgres') {
    return url === undefined ? ['url', 'is required: the URL of a database'] : null;
  }
  const expected = 'expected driver: postgres beside it';
  if (url !== undefined) return ['url', expected];
  return listenUrl === undefined ? null : ['listenUrl', expected];
}

/** Where records are kept. */
export const store = v.pipe(unchecked(), rule(faultOf));
