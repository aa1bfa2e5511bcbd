import { renameSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { GOOD_KEY, selfSignedProvider, smallProvider } from '../administration/small-provider.ts';
import { OWNER_KEY } from '../daemon.ts';
import { describeConsole, submit, submitKey } from './browser.ts';

const WRONG_KEY = 'sk-wrong-0123456789SECRETabcdef';

describeConsole('providers and models', ({ daemon, open, post, check, allow }) => {
  const ask = async (model: string, key: string) => {
    const response = await daemon().send(
      '/v1/chat/completions',
      { model, messages: [{ role: 'user', content: 'Hello' }] },
      { key },
    );
    await response.text();
    return response.status;
  };
  const card = (page: Page, name: string) =>
    page.getByRole('region', { name: `Provider ${name}`, exact: true });
  const add = async (page: Page, name: string, url: string, key: string) => {
    await submit(page, { Name: name, 'API key': key, 'Base URL': url }, 'Add provider');
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
    await submit(page, { 'API key': GOOD_KEY }, 'Add provider');
    await dialog.getByText(/answered “OK” in/).waitFor();
    await check(page, 'offer');
    await dialog.getByRole('checkbox', { name: 'gpt-5-nano' }).check();
    await dialog.getByLabel('List prices of').selectOption('openai');
    await dialog.getByRole('button', { name: 'Offer 1 model' }).click();
    await page.getByRole('rowheader', { name: 'gpt-5-nano' }).waitFor();
    await page.getByRole('cell', { name: '0.05 in, 0.4 out' }).waitFor();
    await card(page, 'mine').getByText('working', { exact: true }).waitFor();
    await check(page, 'provider-added');
    expect(await page.content()).not.toContain('SECRET');

    await page.getByRole('navigation').getByRole('link', { name: 'Overview' }).click();
    await steps.getByText('2 of 4 done').waitFor();
    await steps.getByRole('link', { name: 'Make an API key' }).click();
    const key = await submitKey(page, { Name: 'agent' });
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
  it('say what is wrong with a provider, and keep what was typed', async () => {
    allow(/status of 4(00|09)/);
    const [good, listless, secure] = [
      await smallProvider(['m-1']),
      await smallProvider(null),
      await selfSignedProvider(['m-1']),
    ];
    const page = await open('models?add=provider');
    const dialog = page.getByRole('dialog');
    const alert = dialog.getByRole('alert');
    const refused: readonly (readonly [name: string, url: string, message: string])[] = [
      ['far', 'http://127.0.0.1:1/v1', 'connection refused; check the address'],
      ['secure', `${secure.url}/v1`, 'its certificate is self-signed'],
      ['listless', `${listless.url}/v1`, 'listless failed: status 404: no route /v1/models'],
      ['-bad', `${good.url}/v1`, 'name: expected letters, digits'],
      ['metadata', 'http://169.254.169.254/v1', 'cloud metadata'],
      ['bad-url', 'ftp://host', 'url: expected an http or https URL'],
    ];
    for (const [name, url, message] of refused) {
      await add(page, name, url, GOOD_KEY);
      await alert.getByText(message).or(dialog.getByText(message)).first().waitFor();
      expect(await dialog.getByLabel('Name').inputValue()).toBe(name);
    }
    await check(page, 'add-provider-bad-url');
    await dialog.getByText('More settings').click();
    await dialog.getByLabel('Model for the test').fill('own');
    await add(page, 'listless', `${listless.url}/v1`, GOOD_KEY);
    await dialog.getByText('It has no list of models').waitFor();
    await check(page, 'offer-without-list');
    await submit(page, { 'Names of models': 'own, other' }, 'Offer 2 models');
    await page.getByRole('rowheader', { name: 'other' }).waitFor();
    await page.getByRole('button', { name: 'Add provider' }).click();
    await add(page, 'listless', `${good.url}/v1`, GOOD_KEY);
    await alert.getByText('there is a provider "listless" already').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Remove listless' }).click();
    await dialog.getByRole('button', { name: 'Remove provider' }).click();
    await alert.getByText('has routes of the models own, other').waitFor();
  });

  it('are changed, take a lost key again, and are removed', async () => {
    allow(/status of 4(00|09)|status of 503/);
    const { url } = await smallProvider(Array.from({ length: 150 }, (_, index) => `m-${index}`));
    const provider = { name: 'second', kind: 'openai', url: `${url}/v1`, key: GOOD_KEY };
    await post('v1/admin/providers/add', provider);
    await post('v1/admin/models/add', { name: 'm-2', provider: 'second', input_price: '2' });
    const page = await open('models');
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Change m-2' }).click();
    await dialog.getByLabel('Output price', { exact: true }).fill('much');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('output_price: expected credits').waitFor();
    await dialog.getByLabel('Output price', { exact: true }).fill('8');
    await dialog.getByLabel('Alias').fill('two');
    await check(page, 'change-model');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('cell', { name: '2 in, 8 out' }).waitFor();
    expect(await ask('two', OWNER_KEY)).toBe(200);

    const file = join(daemon().data, 'secret.key');
    renameSync(file, `${file}.lost`);
    daemon().child.kill('SIGHUP');
    await card(page, 'second').getByText('secret.key is missing').waitFor();
    expect(await ask('two', OWNER_KEY)).toBe(503);
    await check(page, 'provider-with-lost-key');
    await page.getByRole('button', { name: 'Change second' }).click();
    await submit(page, { 'API key': GOOD_KEY }, 'Save');
    await page.getByRole('button', { name: 'Test second' }).click();
    await dialog.getByText(/answered “OK” in/).waitFor();
    expect(await ask('two', OWNER_KEY)).toBe(200);
    await dialog.getByText('50 more').waitFor();
    expect(await dialog.getByRole('checkbox', { name: 'm-2 is offered' }).isDisabled()).toBe(true);
    await check(page, 'offer-many');
    await dialog.getByLabel('Find one of 150').fill('m-149');
    await dialog.getByRole('checkbox', { name: 'm-149' }).check();
    await dialog.getByRole('button', { name: 'Offer 1 model' }).click();
    await page.getByText('Free, since no price is known: m-149').waitFor();
    await page.getByRole('rowheader', { name: 'm-149' }).waitFor();
    for (const name of ['m-2', 'm-149', 'second']) {
      await page.getByRole('button', { name: `Remove ${name}`, exact: true }).click();
      await dialog.getByRole('button', { name: /^Remove/ }).click();
      await page
        .getByRole('button', { name: `Remove ${name}`, exact: true })
        .waitFor({ state: 'detached' });
    }
  });
});
