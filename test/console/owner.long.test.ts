import { createServer } from 'node:http';
import { afterAll, expect, it } from 'vitest';
import { openServer } from '../fixtures/open-server.ts';
import { describeConsole } from './browser.ts';

/** A provider that knows no key. */
const refusing = createServer((_request, response) => {
  const error = { message: 'Incorrect API key provided', type: 'invalid_request_error' };
  response.writeHead(401, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
});

const { url: address, close } = await openServer(refusing);
afterAll(close);

describeConsole(
  "the owner's views",
  ({ daemon, open, post, check, allow }) => {
    const ask = async (model: string, status: number) => {
      const messages = [{ role: 'user', content: 'Hello' }];
      const response = await post('v1/chat/completions', { model, messages });
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

    it('makes an account and a key that works, changes and revokes it', async () => {
      allow(/status of 400/);
      const page = await open('accounts');
      await page.getByRole('button', { name: 'New account' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Name').fill('friend');
      await dialog.getByLabel('Credits').fill('100');
      await dialog.getByRole('button', { name: 'Create account' }).click();
      await page.getByRole('rowheader', { name: 'friend' }).waitFor();
      await page.getByRole('button', { name: 'New key' }).click();
      await dialog.getByLabel('Account that pays').selectOption('friend');
      await dialog.getByLabel('Name').fill('web');
      await dialog.getByLabel('Budget in credits').fill('much');
      await dialog.getByRole('button', { name: 'Create key' }).click();
      await dialog.getByRole('alert').waitFor();
      await check(page, 'new-key-refused');
      await dialog.getByLabel('Budget in credits').fill('50');
      await dialog.getByRole('button', { name: 'Create key' }).click();
      const key = (await dialog.getByText(/^sk-oriel-/).textContent())!.trim();
      await check(page, 'new-key');
      await dialog.getByRole('button', { name: 'I have copied it' }).click();
      const headers = { authorization: `Bearer ${key}` };
      const models = () => daemon().request('v1/models', { headers });
      expect((await models()).status).toBe(200);
      await page.getByText('0 of 50 in all').waitFor();
      await check(page, 'accounts');
      await page.getByRole('button', { name: /^Change web/ }).click();
      await dialog.getByLabel('Budget in credits').fill('60');
      await dialog.getByRole('button', { name: 'Save' }).click();
      await page.getByText('0 of 60 in all').waitFor();
      await page.getByRole('button', { name: /^Revoke web/ }).click();
      await dialog.getByRole('button', { name: 'Revoke key' }).click();
      await page.getByText('revoked', { exact: true }).waitFor();
      expect((await models()).status).toBe(401);
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

    it('shows sign-ins among recent requests only when asked', async () => {
      const page = await open('requests');
      await page.getByRole('cell', { name: 'sandbox-chat' }).first().waitFor();
      expect(await page.getByText('/v1/session').count()).toBe(0);
      await page.getByLabel('With sign-ins').check();
      await page.getByText('/v1/session').first().waitFor();
      expect(page.url()).toMatch(/requests\?sign_ins=true$/);
    });

    it('shows many accounts in pages, and finds keys by the name of an account', async () => {
      const names = Array.from({ length: 101 }, (_, index) => `many-${index}`);
      await Promise.all(names.map((name) => post('v1/admin/accounts/create', { name })));
      await post('v1/admin/keys/create', { account: 'many-7', name: 'of-many-7' });
      const page = await open('accounts');
      const owner = page.getByRole('rowheader', { name: 'owner', exact: true });
      await owner.waitFor();
      await page.getByRole('button', { name: 'Later accounts' }).click();
      await owner.waitFor({ state: 'detached' });
      await check(page, 'accounts-later');
      await page.getByLabel('Keys of').fill('many-7');
      await page.keyboard.press('Enter');
      await page.getByRole('row', { name: /of-many-7/ }).waitFor();
      await page.getByRole('button', { name: 'Earlier accounts' }).click();
      await owner.waitFor();
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
        broken: { kind: 'openai', baseUrl: `${address}/v1`, apiKey: 'sk-wrong' },
      },
      models: {
        'sandbox-chat': { type: 'text', routes: [{ provider: 'sandbox', model: 'chat' }] },
        broken: { type: 'text', routes: [{ provider: 'broken', model: 'gpt' }] },
      },
    },
  },
);
