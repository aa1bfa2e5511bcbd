import { afterAll, expect, it } from 'vitest';
import { WebhookReceiver } from '../media/webhook-receiver.ts';
import { describeConsole } from './browser.ts';

const SECRET = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;

const receiver = await WebhookReceiver.open();
afterAll(() => receiver.close());

describeConsole(
  'the view of alerts',
  ({ daemon, open, post, check }) => {
    it('tests the webhooks, and shows alerts with links', async () => {
      const page = await open('alerts');
      await page.getByText('No alerts yet').waitFor();
      await check(page, 'alerts-empty');
      await page.getByRole('button', { name: 'Test webhooks' }).click();
      await page.getByText(/delivered in \d+ ms/).waitFor();
      await page.getByText(/203\.0\.113\.1:8 is an address that the operator/).waitFor();
      await check(page, 'alerts-tested');
      const got = await receiver.nth(1);
      expect(WebhookReceiver.verified(SECRET, got)).toMatchObject({ type: 'alert.test' });

      const messages = [{ role: 'user', content: 'Hello' }];
      const key = await (
        await post('v1/admin/keys/create', { account: 'owner', name: 'ci', budget: 0.02 })
      ).json();
      const { id, key: secret } = (key as { result: { id: string; key: string } }).result;
      const body = { model: 'priced', messages, max_tokens: 10 };
      expect((await post('v1/chat/completions', body, secret)).status).toBe(200);
      const alert = WebhookReceiver.verified(SECRET, await receiver.nth(2));
      expect(alert).toMatchObject({ type: 'budget.reached', data: { subject: { key: id } } });
      const { link, message } = (alert as { data: { link: string; message: string } }).data;
      await page.reload();
      const row = page.getByRole('link', { name: message });
      expect(await row.getAttribute('href')).toBe(link.slice(link.indexOf('/console/')));
      await page.getByRole('rowheader', { name: /ago|now/ }).waitFor();
      await check(page, 'alerts');
      await row.click();
      await page.getByRole('heading', { name: 'Accounts & keys' }).waitFor();
      expect(daemon().log.filter(({ type }) => type === 'budget.reached')).toHaveLength(1);
    });
  },
  {
    config: {
      network: { allowPrivateAddresses: true, deny: ['203.0.113.1'] },
      alerts: {
        webhooks: [
          { name: 'ops', url: receiver.url, secret: SECRET },
          { name: 'denied', url: 'http://203.0.113.1:8/', secret: SECRET, events: ['disk.low'] },
        ],
      },
      providers: { sandbox: { kind: 'sandbox' } },
      models: {
        priced: {
          type: 'text',
          routes: [{ provider: 'sandbox', model: 'chat' }],
          price: { input: 10, output: 1000 },
        },
      },
    },
  },
);
