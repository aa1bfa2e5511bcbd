import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { openServer } from '../fixtures/open-server.ts';
import { describeConsole, submit } from './browser.ts';

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
      await card.getByText(/^read only: oriel\.yaml:\d+$/).waitFor();
      expect(await card.getByRole('button').allTextContents()).toEqual(['Test']);
      await check(page, 'models');
      expect(await page.content()).not.toContain('sk-wrong');
    });

    it('makes an account and a key that works, changes and revokes it', async () => {
      allow(/status of 400/);
      const page = await open('accounts');
      await page.getByRole('button', { name: 'New account' }).click();
      const dialog = page.getByRole('dialog');
      await submit(page, { Name: 'friend', Credits: '100' }, 'Create account');
      await page.getByRole('rowheader', { name: 'friend' }).waitFor();
      await page.getByRole('button', { name: 'New key' }).click();
      await dialog.getByLabel('Account that pays').selectOption('friend');
      await submit(page, { Name: 'web', 'Budget in credits': 'much' }, 'Create key');
      await dialog.getByRole('alert').waitFor();
      await check(page, 'new-key-refused');
      await submit(page, { 'Budget in credits': '50' }, 'Create key');
      const key = (await dialog.getByText(/^sk-oriel-/).textContent())!.trim();
      await check(page, 'new-key');
      // The key is shown this once.
      await page.keyboard.press('Escape');
      await dialog.getByRole('button', { name: 'I have copied it' }).click();
      const headers = { authorization: `Bearer ${key}` };
      const models = () => daemon().request('v1/models', { headers });
      expect((await models()).status).toBe(200);
      await page.getByText('0 of 50 in all').waitFor();
      await check(page, 'accounts');
      await page.getByRole('button', { name: /^Change web/ }).click();
      await submit(page, { 'Budget in credits': '60' }, 'Save');
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

    it('follows requests live, shows the attempts and the prompt of one, and opens it in Chat', async () => {
      const page = await open('requests?text=no-such');
      await page.getByText('No requests here').waitFor();
      await post('v1/chat/completions', { model: 'no-such-model', messages: [] });
      await page.getByRole('row', { name: /404|400/ }).waitFor();
      await post('v1/admin/accounts/set-bodies', { name: 'owner', bodies: 'all' });
      const messages = [{ role: 'user', content: 'Why is the sky blue?' }];
      await page.getByLabel('Search').fill('sandbox-');
      await page.keyboard.press('Enter');
      const rows = page.getByRole('button', { name: /details of req_/ });
      await rows.first().waitFor();
      const before = await rows.first().getAttribute('aria-label');
      const sent = await post('v1/chat/completions', { model: 'sandbox-reasoner', messages });
      const id = sent.headers.get('x-request-id')!;
      expect(before).not.toContain(id);
      await page.getByRole('button', { name: new RegExp(id) }).click();
      const drawer = page.getByRole('dialog');
      await drawer
        .getByRole('region', { name: 'Prompt' })
        .getByText('Why is the sky blue?')
        .waitFor();
      await drawer
        .getByRole('region', { name: 'Answer' })
        .getByText(/pretends to reason about[\s\S]*You said: Why is/)
        .waitFor();
      await check(page, 'request-bodies');
      await drawer.getByRole('button', { name: 'Open in Chat' }).click();
      const box = page.getByRole('textbox', { name: /message/i });
      await expect.poll(() => box.inputValue()).toBe('Why is the sky blue?');
      await page.goBack();
      await page.getByRole('button', { name: new RegExp(id) }).click();
      await drawer.getByRole('button', { name: 'Delete the bodies' }).click();
      await drawer.getByText('Its bodies were not kept').waitFor();
      await post('v1/admin/accounts/set-bodies', { name: 'owner', bodies: 'default' });
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
      const accounts = page.getByRole('region', { name: 'Accounts', exact: true });
      await accounts.getByRole('rowheader', { name: 'owner', exact: true }).waitFor();
      await page.getByLabel('Keys of').fill('many-7');
      await page.keyboard.press('Enter');
      await page.getByRole('row', { name: /of-many-7/ }).waitFor();
      const rows = await accounts.getByRole('rowheader').count();
      await page.getByRole('button', { name: 'Show more accounts' }).click();
      await expect.poll(() => accounts.getByRole('rowheader').count()).toBeGreaterThan(rows);
      await page.getByLabel('Keys of').selectOption('many-7');
      await check(page, 'accounts-later');
    });

    it('makes, changes and removes a team', async () => {
      const page = await open('teams');
      await page.getByText('No teams').waitFor();
      await page.getByRole('button', { name: 'New team' }).click();
      const dialog = page.getByRole('dialog');
      await submit(
        page,
        { Name: 'crew', 'Account of its keys': 'owner', 'Budget for a week': '70' },
        'Create team',
      );
      await page.getByText('0 of 70 a week').waitFor();
      await check(page, 'teams');
      await page.getByRole('button', { name: 'Change crew' }).click();
      await submit(page, { 'Budget for a week': 'none', 'Budget in credits': '9' }, 'Save');
      await page.getByText('0 of 9 in all').waitFor();
      await page.getByRole('button', { name: 'Remove crew?' }).click();
      await dialog.getByRole('button', { name: 'Remove team' }).click();
      await page.getByText('No teams').waitFor();
    });

    it('shows the server, and where each setting comes from, without secrets', async () => {
      allow(/status of 400/);
      const page = await open('settings');
      await page.getByText('Image pool').waitFor();
      const retries = page.getByRole('row', { name: /^routing\.retries 0 oriel\.yaml:1$/ });
      await retries.waitFor();
      await page.getByRole('row', { name: /^server\.port \d+ command line$/ }).waitFor();
      await check(page, 'settings');
      expect(await page.content()).not.toContain('sk-wrong');
      await page.getByLabel('Find').fill('LIMITS.PAID');
      await page.getByText('All of these have their default.').waitFor();
      await page.getByLabel('With defaults').check();
      await page.getByRole('row', { name: /^limits\.paid\.rpm \d+ default$/ }).waitFor();
      await page.getByLabel('Find').fill('backup.to');
      await page.getByRole('row', { name: /^backup\.to not set$/ }).waitFor();
      const file = join(daemon().data, 'oriel.yaml');
      const source = readFileSync(file, 'utf8');
      writeFileSync(file, '\nserver: { prt: 1 }\n');
      await page.getByRole('button', { name: 'Reload the file' }).click();
      await page.getByText(/oriel\.yaml:2: server\.prt: /).waitFor();
      await check(page, 'settings-refused');
      writeFileSync(file, source);
      await page.getByRole('button', { name: 'Reload the file' }).click();
      await page.getByText('The configuration was read again').waitFor();
      await page.getByText(/server\.prt: /).waitFor({ state: 'detached' });
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
        'sandbox-reasoner': { type: 'text', routes: [{ provider: 'sandbox', model: 'reasoner' }] },
        broken: { type: 'text', routes: [{ provider: 'broken', model: 'gpt' }] },
      },
    },
  },
);
