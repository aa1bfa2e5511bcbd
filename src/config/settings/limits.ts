import * as v from 'valibot';
import { integer, optional, section, withDefault } from '../../schema/fields.ts';
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
  section(
    v.strictObject({
      rpm: withDefault(integer(1, 1_000_000), rpm, 'Requests a minute of one key.'),
      tasks: withDefault(
        integer(1, 10_000_000),
        tasks,
        'Tasks of one account that have not ended.',
      ),
      uploads: withDefault(
        size('1MB', '1000TB'),
        uploads,
        'Uploaded images that one account may keep, with the inputs of its open tasks.',
      ),
      history: withDefault(
        integer(1, 100_000_000),
        history,
        'Ended tasks of one account that are kept; beyond, the oldest are deleted first.',
      ),
      historySize: withDefault(
        size('1MB', '1000TB'),
        historySize,
        'Bytes of their records and results that are kept; beyond, the oldest are deleted first.',
      ),
    }),
    description,
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
  address: section(
    v.strictObject({
      connections: optional(
        integer(1, 1_000_000),
        'Open connections; trusted proxies are exempt. Unset: a quarter of all connections for a ' +
          'public address, any number for a private one.',
        { restart: true, example: 100 },
      ),
      failedKeys: withDefault(
        integer(1, 1_000_000),
        120,
        'Requests a minute with an unknown, revoked or expired key; further ones get 429 instead of ' +
          '401. Valid keys are always accepted.',
      ),
    }),
    'One client address before its key is known; an IPv6 address counts by its /64. Behind a proxy, set ' +
      'server.trustProxy, or all clients share the address of the proxy.',
  ),
  shared: optional(
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
  sharedPrefix: withDefault(
    v.pipe(v.string(), v.regex(/^[!-~]{0,64}$/)),
    'oriel',
    'Beginning of the names of all keys there, before a colon. Daemons that share no limits need different ones.',
    { restart: true, expects: 'a text of 64 printable ASCII characters at most' },
  ),
  syncWait: withDefault(
    duration('0s', '1h'),
    '60s',
    'How long a request for images or speech waits for its result.',
  ),
  taskDeadline: withDefault(duration('1s'), '15m', 'When a task that has not finished expires.'),
  retention: withDefault(
    duration('1m', '3650d'),
    '7d',
    'How long finished tasks, their files, and uploads are kept.',
  ),
  ledger: withDefault(
    duration('1d', '3650d'),
    '365d',
    "How long the lines of an account's ledger are kept one by one; older ones are summed up.",
  ),
  ledgerLines: withDefault(
    integer(1000, 10_000_000),
    30_000,
    "Lines of one account's ledger that are kept one by one; older ones are summed up. A paid task has " +
      'two or three. They are in memory, where a thousand take a third of a megabyte.',
  ),
  usage: withDefault(
    duration('31d', '3650d'),
    '400d',
    'How long usage by day, key and model is kept for reports. It is in memory, where a thousand rows take ' +
      'a third of a megabyte.',
  ),
});
