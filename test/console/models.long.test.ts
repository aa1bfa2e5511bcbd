import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { GOOD_KEY, smallProvider } from '../administration/small-provider.ts';
import { describeConsole } from './browser.ts';

const WRONG_KEY = 'sk-wrong-0123456789SECRETabcdef';

describeConsole('providers and models', ({ daemon, open, check, allow }) => {
  const ask = async (model: string, key: string) => {
    const response = await daemon().request('/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }),
    });
    await response.text();
    return response.status;
  };
  const card = (page: Page, name: string) =>
    page.getByRole('region', { name: `Provider ${name}`, exact: true });
  const add = async (page: Page, name: string, url: string, key: string) => {
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill(name);
    await dialog.getByLabel('API key').fill(key);
    await dialog.getByLabel('Base URL').fill(url);
    await dialog.getByRole('button', { name: 'Add provider' }).click();
  };

  it('lead from an empty daemon to the first answer of a client', async () => {
    allow(/status of 409/);
    const { url } = await smallProvider(['gpt-5', 'gpt-5-nano', 'text-embedding-3-small']);
    const page = await open('');
    const dialog = page.getByRole('dialog');
    const steps = page.getByRole('region', { name: 'First steps' });
    await steps.getByText('0 of 4 done').waitFor();
    await check(page, 'checklist');
    await steps.getByRole('link', { name: 'Add a provider' }).click();
    await dialog.getByLabel('Kind').waitFor();
    await check(page, 'add-provider');
    await add(page, 'mine', `${url}/v1`, WRONG_KEY);
    const refusal = dialog.getByRole('alert');
    await refusal.getByText('status 401: Incorrect API key provided: [key]').waitFor();
    await check(page, 'add-provider-refused');
    await dialog.getByLabel('API key').fill(GOOD_KEY);
    await dialog.getByRole('button', { name: 'Add provider' }).click();
    await dialog.getByText(/answered “OK” in/).waitFor();
    await check(page, 'offer');
    await dialog.getByRole('checkbox', { name: 'gpt-5-nano' }).check();
    await dialog.getByRole('button', { name: 'Offer 1 model' }).click();
    await page.getByRole('rowheader', { name: 'gpt-5-nano' }).waitFor();
    await card(page, 'mine').getByText('working', { exact: true }).waitFor();
    await check(page, 'provider-added');
    expect(await page.content()).not.toContain('SECRET');

    await page.getByRole('navigation').getByRole('link', { name: 'Overview' }).click();
    await steps.getByText('2 of 4 done').waitFor();
    await steps.getByRole('link', { name: 'Make an API key' }).click();
    await dialog.getByLabel('Name').fill('agent');
    await dialog.getByRole('button', { name: 'Create key' }).click();
    const key = (await dialog.getByText(/^sk-oriel-/).textContent())!.trim();
    await dialog.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByRole('navigation').getByRole('link', { name: 'Overview' }).click();
    await steps.getByText('3 of 4 done').waitFor();
    expect(
      await steps.getByRole('link', { name: 'Connect a client' }).getAttribute('href'),
    ).toMatch(/\/connect$/);
    expect(await ask('gpt-5-nano', key)).toBe(200);
    await page.getByRole('heading', { name: 'All set' }).waitFor();
    await check(page, 'checklist-done');
    await page.reload({ waitUntil: 'networkidle' });
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    expect(await page.getByText('Make an API key').count()).toBe(0);
  });
});
