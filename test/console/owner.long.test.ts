import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, it } from 'vitest';
import { OWNER_KEY } from '../daemon.ts';
import { describeConsole } from './browser.ts';

/** A provider that knows no key. */
const refusing = createServer((_request, response) => {
  response.writeHead(401, { 'content-type': 'application/json' });
  response.end(
    JSON.stringify({
      error: { message: 'Incorrect API key provided', type: 'invalid_request_error' },
    }),
  );
});

await once(refusing.listen(0, '127.0.0.1'), 'listening');
afterAll(() => refusing.close());

describeConsole(
  "the owner's views",
  ({ daemon, open, check }) => {
    const ask = async (model: string, status: number) => {
      const response = await fetch(`${daemon().url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${OWNER_KEY}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }),
      });
      expect(response.status).toBe(status);
      await response.text();
    };

    it('shows a provider with a wrong key as what it is', async () => {
      await ask('broken', 502);
      const page = await open('models');
      const card = page.getByRole('region', { name: 'Provider broken' });
      await card.getByText('wrong key', { exact: true }).waitFor();
      await card.getByText(/providers\.broken\.apiKey/).waitFor();
      await card.getByText('Last failures').click();
      await check(page, 'models');
      expect(await page.content()).not.toContain('sk-wrong');
    });

    it('shows recent requests with their details', async () => {
      await ask('sandbox-chat', 200);
      const page = await open('requests');
      await page.getByRole('cell', { name: 'sandbox-chat' }).first().waitFor();
      await check(page, 'requests');
      const row = page.getByRole('row', { name: /sandbox-chat/ }).first();
      await row.getByRole('button', { name: /details of req_/ }).click();
      await page.getByRole('dialog').getByText('sandbox, chat').waitFor();
      await check(page, 'request');
      await page.keyboard.press('Escape');
      await page.getByLabel('Status').selectOption('5xx');
      await page.getByRole('cell', { name: 'sandbox-chat' }).first().waitFor({ state: 'detached' });
      expect(page.url()).toMatch(/requests\?status=5xx$/);
    });

    it('shows the server and its configuration without secrets', async () => {
      const page = await open('settings');
      await page.getByRole('region', { name: 'Image pool' }).waitFor();
      await page.getByText('"retries"').waitFor();
      await check(page, 'settings');
      expect(await page.content()).not.toContain('sk-wrong');
    });
  },
  {
    config: {
      network: { allowPrivateAddresses: true },
      routing: { retries: 0 },
      providers: {
        sandbox: { kind: 'sandbox' },
        broken: {
          kind: 'openai',
          baseUrl: `http://127.0.0.1:${(refusing.address() as AddressInfo).port}/v1`,
          apiKey: 'sk-wrong',
        },
      },
      models: {
        'sandbox-chat': { type: 'text', routes: [{ provider: 'sandbox', model: 'chat' }] },
        broken: { type: 'text', routes: [{ provider: 'broken', model: 'gpt' }] },
      },
    },
  },
);
