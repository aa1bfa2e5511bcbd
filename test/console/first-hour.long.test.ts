import { afterAll, expect, it } from 'vitest';
import { WebhookReceiver } from '../media/webhook-receiver.ts';
import { readFixtures } from '../text/agents/fixture.ts';
import { startMockUpstream } from '../text/mock-upstream.ts';
import { describeConsole, submit, submitKey } from './browser.ts';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

const receiver = await WebhookReceiver.open();
afterAll(() => receiver.close());

describeConsole(
  'the first hour of a new operator',
  ({ daemon, open, post, check, allow }) => {
    it('leads from an empty daemon over two clients to an alert of a budget', async () => {
      allow(/status of 409/);
      const provider = await startMockUpstream();
      provider.play(() => ({
        steps: [{ text: 'OK' }],
        usage: { input: 2000, output: 1000 },
      }));
      const page = await open('');
      const dialog = page.getByRole('dialog');
      const navigation = page.getByRole('navigation');

      // A provider without a list of models, whose model gets OpenAI's price.
      await page.getByRole('link', { name: 'Add a provider' }).click();
      await dialog.getByLabel('Name').fill('mine');
      await dialog.getByLabel('API key').fill('sk-a-key-of-the-provider-0000');
      await dialog.getByLabel('Base URL').fill(provider.url);
      await dialog.getByText('More settings').click();
      await submit(page, { 'Model for the test': 'gpt-5-nano' }, 'Add provider');
      await dialog.getByText('It has no list of models').waitFor();
      await dialog.getByLabel('Names of models').fill('gpt-5-nano');
      await dialog.getByLabel('List prices of').selectOption('openai');
      await dialog.getByRole('button', { name: 'Offer 1 model' }).click();
      await page.getByRole('cell', { name: '0.05 in, 0.4 out' }).waitFor();

      // Codex, as the page Connect configures it.
      await navigation.getByRole('link', { name: 'Connect' }).click();
      await page.getByRole('link', { name: 'Codex' }).click();
      await page.getByRole('button', { name: 'New key' }).click();
      const key = await submitKey(page, { Name: 'agents' });
      await page.getByText('Waiting for the first request').waitFor();
      const codex = Object.fromEntries(readFixtures())['codex-responses']!;
      const [{ body, turns }] = codex.conversations as [(typeof codex.conversations)[number]];
      const request = { ...body, model: 'gpt-5-nano', input: turns[0]!.add };
      const answer = await post(codex.path.slice(1), request, key);
      expect(await answer.text()).toContain('response.completed');
      await page.getByText(/^Connected\. gpt-5-nano, status 200/).waitFor();

      // The request in the log, with its attempt.
      await page.getByRole('link', { name: 'Show the requests of this key' }).click();
      await page.getByRole('cell', { name: 'gpt-5-nano' }).first().waitFor();
      await check(page, 'first-hour-requests');

      // Open WebUI lists models, and streams. Its request passes 80 % of the key's budget.
      const log = await daemon().request('/v1/admin/requests?model=gpt-5-nano&limit=1');
      const { data } = (await log.json()) as { data: { key: { id: string }; credits: number }[] };
      const [{ credits, key: asked }] = data as [(typeof data)[number]];
      await post('v1/admin/keys/set', { id: asked.id, budget: (credits / 0.75).toFixed(6) });
      const models = await daemon().request('/v1/models', {
        headers: { authorization: `Bearer ${key}` },
      });
      expect(await models.text()).toContain('gpt-5-nano');
      provider.play(() => ({
        steps: [{ text: 'OK' }],
        usage: { input: 10, output: 200 },
      }));
      const chat = await post(
        'v1/chat/completions',
        {
          ...{ model: 'gpt-5-nano', stream: true, max_tokens: 300 },
          messages: [{ role: 'user', content: 'Hello' }],
        },
        key,
      );
      expect(await chat.text()).toContain('[DONE]');
      const alert = WebhookReceiver.verified(SECRET, await receiver.nth(1));
      expect(alert).toMatchObject({ type: 'budget.reached', data: { subject: { key: asked.id } } });
      await navigation.getByRole('link', { name: 'Alerts' }).click();
      await page.getByRole('link', { name: /has spent 87% of its budget/ }).waitFor();
      await check(page, 'first-hour-alert');
    });
  },
  {
    config: {
      network: { allowPrivateAddresses: true },
      alerts: { webhooks: [{ name: 'ops', url: receiver.url, secret: SECRET }] },
    },
  },
);
