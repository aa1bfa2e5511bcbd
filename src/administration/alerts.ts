import * as v from 'valibot';
import { boundedText, field, integer, optional, withDefault } from '../schema/fields.ts';
import { ALERT_TYPES, MAX_ALERTS } from '../store/alert.ts';
import { defineAdminCommand } from './admin-command.ts';
import { testedWebhook } from './catalog-context.ts';
import { tableOf, timeOf } from './tables.ts';

/** Alerts that are shown where no limit is given. */
const SHOWN = 50;

const alertShape = v.object({
  id: field(v.string(), 'the webhook-id'),
  type: v.picklist(ALERT_TYPES),
  at: field(v.number(), 'seconds since the epoch'),
  message: v.string(),
  subject: field(v.record(v.string(), v.string()), 'identifiers and names'),
  figures: v.record(v.string(), v.number()),
  link: field(v.string(), 'a page of the console'),
});

/** An alert as commands and endpoints show it. */
export type AlertRecord = v.InferOutput<typeof alertShape>;

const alertTable = tableOf<AlertRecord>({
  'TIME (UTC)': [({ at }) => timeOf(at), {}],
  TYPE: [({ type }) => type, {}],
  MESSAGE: [({ message }) => message, {}],
});

const list = defineAdminCommand({
  group: 'alerts',
  name: 'list',
  summary: 'Show the latest alerts, newest first',
  options: v.strictObject({
    limit: withDefault(
      integer(1, MAX_ALERTS),
      SHOWN,
      `alerts to show; the store keeps ${MAX_ALERTS}`,
    ),
  }),
  result: v.object({ alerts: v.array(alertShape) }),
  examples: ['alerts list', 'alerts list --limit 5'],
  run: async (store, { limit }) => {
    const alerts = await store.listAlerts(limit);
    return { alerts: alerts.map((alert) => ({ ...alert, at: Math.round(alert.at / 1000) })) };
  },
  show: ({ alerts }) => ({
    // Without columns a message is not cut.
    tables: [{ rows: alertTable(alerts).rows }],
    messages: alerts.length === 0 ? ['no alerts yet'] : [],
  }),
});

const test = defineAdminCommand({
  group: 'alerts',
  name: 'test',
  summary: 'Send a test alert to the webhooks of the configuration, and show what they answer',
  positionals: ['name'],
  options: v.strictObject({
    name: optional(boundedText(128), 'name of one webhook; all without it', {
      expects: 'the name of a webhook',
    }),
  }),
  result: v.object({ webhooks: v.array(testedWebhook) }),
  examples: ['alerts test'],
  sample: {},
  run: async (_, { name }, { testAlerts }) => ({ webhooks: [...(await testAlerts(name))] }),
  audit: ({ name }, result) => ({
    object: name ?? 'all webhooks',
    details: { delivered: result?.webhooks.filter(({ isDelivered }) => isDelivered).length },
  }),
  show: ({ webhooks }) => ({
    messages:
      webhooks.length === 0
        ? ['no webhooks: add one to alerts.webhooks of the configuration']
        : webhooks.map(({ name, isDelivered, error, milliseconds }) =>
            isDelivered
              ? `${name}: delivered in ${milliseconds} ms`
              : `${name}: not delivered: ${error}`,
          ),
    exitCode: webhooks.every(({ isDelivered }) => isDelivered) ? 0 : 1,
  }),
});

export const ALERT_COMMANDS = [list, test];
