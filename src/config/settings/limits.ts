import * as v from 'valibot';
import { field, integer } from '../../schema/fields.ts';
import { redisUrl } from '../fields/text.ts';
import { duration, size } from '../fields/units.ts';

interface PlanDefaults {
  readonly rpm: number;
  readonly tasks: number;
  readonly uploads: string;
  readonly history: number;
  readonly historySize: string;
}

const plan = ({ rpm, tasks, uploads, history, historySize }: PlanDefaults, description: string) =>
  v.nullish(
    field(
      v.strictObject({
        rpm: v.optional(field(integer(1, 1_000_000), 'Requests a minute of one key.'), rpm),
        tasks: v.optional(
          field(integer(1, 10_000_000), 'Tasks of one account that have not ended.'),
          tasks,
        ),
        uploads: v.optional(
          field(
            size('1MB', '1000TB'),
            'Uploaded images that one account may keep, with the inputs of its open tasks.',
          ),
          uploads,
        ),
        history: v.optional(
          field(
            integer(1, 100_000_000),
            'Ended tasks of one account that are kept; beyond, the oldest are deleted first.',
          ),
          history,
        ),
        historySize: v.optional(
          field(
            size('1MB', '1000TB'),
            'Bytes of their records and results that are kept; beyond, the oldest are deleted first.',
          ),
          historySize,
        ),
      }),
      description,
    ),
    {},
  );

export const limits = v.strictObject({
  free: plan(
    { rpm: 20, tasks: 100, uploads: '1GB', history: 10_000, historySize: '5GB' },
    'Free accounts and their keys.',
  ),
  paid: plan(
    { rpm: 600, tasks: 10_000, uploads: '10GB', history: 1_000_000, historySize: '100GB' },
    'Paid accounts and their keys.',
  ),
  address: v.nullish(
    field(
      v.strictObject({
        connections: v.optional(
          field(
            integer(1, 1_000_000),
            'Open connections; trusted proxies are exempt. Unset: a quarter of all connections for a ' +
              'public address, any number for a private one.',
            { restart: true, example: 100 },
          ),
        ),
        failedKeys: v.optional(
          field(
            integer(1, 1_000_000),
            'Requests a minute with an unknown, revoked or expired key; further ones get 429 instead of ' +
              '401. Valid keys are always accepted.',
          ),
          120,
        ),
      }),
      'One client address before its key is known; an IPv6 address counts by its /64. Behind a proxy, set ' +
        'server.trustProxy, or all clients share the address of the proxy.',
    ),
    {},
  ),
  shared: v.optional(
    field(
      redisUrl(),
      'Redis (6 or later) or Valkey that counts the requests of all nodes. A request waits 50 ms for it at ' +
        'most. Without it each node accepts its share of every limit, divided by the number of living nodes.',
      {
        restart: true,
        secret: 'url',
        example: `redis://:\${REDIS_PASSWORD}@127.0.0.1:6379/0`,
        expects:
          'a URL such as redis://user:password@host:6379/0, or rediss:// for TLS, with the password percent-encoded',
      },
    ),
  ),
  sharedPrefix: v.optional(
    field(
      v.pipe(v.string(), v.regex(/^[!-~]{0,64}$/)),
      'Beginning of the names of all keys there, before a colon. Daemons that share no limits need different ones.',
      { restart: true, expects: 'a text of 64 printable ASCII characters at most' },
    ),
    'oriel',
  ),
  syncWait: v.optional(
    field(duration('0s', '1h'), 'How long a request for images or speech waits for its result.'),
    '60s',
  ),
  taskDeadline: v.optional(
    field(duration('1s'), 'When a task that has not finished expires.'),
    '15m',
  ),
  retention: v.optional(
    field(duration('1m', '3650d'), 'How long finished tasks, their files, and uploads are kept.'),
    '7d',
  ),
  ledger: v.optional(
    field(
      duration('1d', '3650d'),
      "How long the lines of an account's ledger are kept one by one; older ones are summed up.",
    ),
    '365d',
  ),
  ledgerLines: v.optional(
    field(
      integer(1000, 10_000_000),
      "Lines of one account's ledger that are kept one by one; older ones are summed up. A paid task has " +
        'two or three. They are in memory, where a thousand take a third of a megabyte.',
    ),
    30_000,
  ),
  usage: v.optional(
    field(
      duration('31d', '3650d'),
      'How long usage by day, key and model is kept for reports. It is in memory, where a thousand rows take ' +
        'a third of a megabyte.',
    ),
    '400d',
  ),
});
