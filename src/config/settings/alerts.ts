import * as v from 'valibot';
import { field, integer, number, optional, withDefault } from '../../schema/fields.ts';
import { ALERT_TYPES } from '../../store/alert.ts';
import { identifier } from '../fields/text.ts';
import { duration, size } from '../fields/units.ts';

const MAX_WEBHOOKS = 20;

function isWebhookUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, username, password } = new URL(value);
  return /^https?:$/.test(protocol) && `${username}${password}` === '';
}

const webhook = v.strictObject({
  name: field(identifier(), 'Name for the log, metrics and oriel alerts test.'),
  url: field(
    v.pipe(v.string(), v.maxLength(2000), v.check(isWebhookUrl)),
    'Address that gets a POST for each alert. The rules of network for callbacks apply: private addresses need ' +
      'network.allow, other ports than 80 and 443 network.callbackPorts.',
    { secret: 'interpolated', expects: 'an http or https URL without credentials' },
  ),
  secret: field(
    v.pipe(v.string(), v.regex(/^whsec_(?=.{32,88}$)[A-Za-z0-9+/]+={0,2}$/)),
    'Secret that signs alerts by Standard Webhooks: whsec_ and base64, as from ' +
      'echo "whsec_$(openssl rand -base64 32)".',
    { secret: 'always', expects: 'whsec_ and 24 to 64 bytes in base64' },
  ),
  events: optional(
    v.pipe(v.array(v.picklist(ALERT_TYPES)), v.nonEmpty()),
    `Alerts that it gets: ${ALERT_TYPES.filter((type) => type !== 'alert.test').join(', ')}. Unset: all.`,
    { expects: 'a list of one type of alert at least' },
  ),
});

/** What is reported to the operator, and where. */
export const alerts = v.strictObject({
  webhooks: withDefault(
    v.pipe(v.array(webhook), v.maxLength(MAX_WEBHOOKS)),
    [],
    'Addresses that get signed alerts, each with name, url, secret and, to choose, events. Every alert is in the ' +
      'log as well, and in oriel alerts list.',
    { expects: `a list of ${MAX_WEBHOOKS} webhooks at most` },
  ),
  budgets: withDefault(
    v.pipe(v.array(integer(1, 100)), v.maxLength(20)),
    [50, 80, 100],
    'Percent of a budget of a key or a team, or of the credits of an account, at which an alert is raised.',
    { expects: 'a list of integers from 1 to 100' },
  ),
  repeat: withDefault(
    duration('1m', '30d'),
    '1h',
    'How long an alert of the same route, provider, model or node is not raised again.',
  ),
  errorShare: withDefault(
    number(0, 1),
    0.2,
    'Share of failed requests to a provider or a model above which an alert is raised; 1: never.',
  ),
  errorWindow: withDefault(
    duration('10s', '1h'),
    '5m',
    'Time over which each node counts failed requests.',
  ),
  errorRequests: withDefault(
    integer(1, 1_000_000),
    20,
    'Requests within that time below which the share says nothing.',
  ),
  diskFree: withDefault(
    size('0B', '1000TB'),
    '1GB',
    'Free space on the disk of the data folder below which an alert is raised.',
  ),
  memory: withDefault(
    number(0, 1),
    0.9,
    'Share of the memory that the process may use (overload.memory, or the heap limit of V8) above which an alert ' +
      'is raised; 1: never.',
  ),
});
