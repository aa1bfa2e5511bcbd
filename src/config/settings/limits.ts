import * as v from 'valibot';
import { integer, optional, section, withDefault } from '../../schema/fields.ts';
import { redisUrl } from '../fields/text.ts';
import { duration, size } from '../fields/units.ts';

type PlanDefaults = Readonly<
  Record<'rpm' | 'tasks' | 'history', number> & Record<'uploads' | 'historySize', string>
>;

const plan = ({ rpm, tasks, uploads, history, historySize }: PlanDefaults, description: string) =>
  section(
    v.strictObject({
      rpm: withDefault(integer(1, 1_000_000), rpm, 'Requests per minute of a key.'),
      tasks: withDefault(integer(1, 10_000_000), tasks, 'Open tasks of an account.'),
      uploads: withDefault(
        size('1MB', '1000TB'),
        uploads,
        "Size of an account's uploaded images, including the inputs of its open tasks.",
      ),
      history: withDefault(
        integer(1, 100_000_000),
        history,
        'Ended tasks that are kept for an account. The oldest are deleted first.',
      ),
      historySize: withDefault(
        size('1MB', '1000TB'),
        historySize,
        'Size of the records and results of ended tasks. The oldest are deleted first.',
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
        'Open connections of an address; trusted proxies are exempt. Unset: a quarter of all ' +
          'connections for a public address, no limit for a private address.',
        { restart: true, example: 100 },
      ),
      failedKeys: withDefault(
        integer(1, 1_000_000),
        120,
        'Requests per minute with an unknown, revoked or expired key. Further requests get ' +
          '429 instead of 401. Valid keys are always accepted.',
      ),
    }),
    'Limits of a client address, before the key is checked. IPv6 addresses count by their ' +
      "/64. Behind a proxy, set server.trustProxy; otherwise all clients share the proxy's " +
      'address.',
  ),
  shared: optional(
    redisUrl(),
    'Redis (6 or later) or Valkey that counts the requests of all nodes. A request waits at ' +
      'most 50 ms for it. Without Redis each node accepts its share of every limit, divided by ' +
      'the number of running nodes.',
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
    'Prefix of all keys in Redis, before a colon. Daemons that share no limits need different prefixes.',
    { restart: true, expects: 'a text of 64 printable ASCII characters at most' },
  ),
  syncWait: withDefault(
    duration('0s', '1h'),
    '60s',
    'How long an image or speech request waits for its result.',
  ),
  taskDeadline: withDefault(duration('1s'), '15m', 'How long a task may take before it expires.'),
  retention: withDefault(
    duration('1m', '3650d'),
    '7d',
    'How long finished tasks, their files, and uploads are kept.',
  ),
  ledger: withDefault(
    duration('1d', '3650d'),
    '365d',
    "How long each line of an account's ledger is kept. Older lines are summed up.",
  ),
  ledgerLines: withDefault(
    integer(1000, 10_000_000),
    30_000,
    "Lines of an account's ledger that are kept. Older lines are summed up. A paid task has " +
      'two or three lines. A thousand lines take a third of a megabyte of memory.',
  ),
  usage: withDefault(
    duration('31d', '3650d'),
    '400d',
    'How long usage by day, key and model is kept for reports. A thousand rows take a third ' +
      'of a megabyte of memory.',
  ),
  tagSets: withDefault(
    integer(0, 1_000_000),
    1000,
    'Different combinations of tags that are counted for an account and a day. Requests with ' +
      'further ones are counted as `(other)`.',
    { restart: true },
  ),
});
