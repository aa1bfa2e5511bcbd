import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { describeConsole } from './browser.ts';

describeConsole('the view of usage', ({ open, post, createKey, check }) => {
  const ask = async (key?: string) => {
    const messages = [{ role: 'user', content: 'Hello' }];
    const response = await post('v1/chat/completions', { model: 'sandbox-chat', messages }, key);
    expect(response.status).toBe(200);
    await response.text();
  };

  it('shows that nothing was used yet', async () => {
    const page = await open('usage');
    await page.getByText(/^Nothing was used from/).waitFor();
    await page.getByText('Ledger, newest first').waitFor({ state: 'attached' });
    await check(page, 'usage-empty');
  });

  it('shows usage by model, day and key, and downloads it', async () => {
    await ask();
    const page = await open('usage');
    await page.getByRole('rowheader', { name: 'sandbox-chat' }).waitFor();
    await page.locator('.chart svg').waitFor();
    const edge = (await page.locator('.chart svg').boundingBox())!.x;
    const texts = await page.locator('.chart svg text').all();
    for (const text of texts) expect((await text.boundingBox())!.x).toBeGreaterThanOrEqual(edge);
    await check(page, 'usage');
    await page.getByLabel('By', { exact: true }).selectOption('key');
    await page.getByRole('columnheader', { name: 'API key' }).waitFor();
    expect(page.url()).toContain('by=key');
    await page.getByLabel('Show').selectOption('requests');
    await page.getByRole('img', { name: /^Requests from/ }).waitFor();
    await page.getByRole('button', { name: '7 days' }).click();
    const period = new URL(page.url()).searchParams;
    await page.reload();
    await page.getByRole('columnheader', { name: 'API key' }).waitFor();
    expect(await page.getByLabel('From', { exact: true }).inputValue()).toBe(period.get('from'));
    const downloading = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download as CSV' }).click();
    const text = readFileSync(await (await downloading).path(), 'utf8');
    expect(text).toMatch(/^key.*requests/);
    expect(text.trim().split('\n')).toHaveLength(2);
  });

  it('has all accounts for the owner, and only the own one for others', async () => {
    const key = await createKey('other', { credits: 100 });
    const theirs = await open('usage?accounts=all', { key });
    await theirs.getByText(/^Nothing was used from/).waitFor();
    expect(await theirs.getByLabel('Of', { exact: true }).count()).toBe(0);
    await ask(key);
    await ask();
    const page = await open('usage');
    await page.getByLabel('Of', { exact: true }).selectOption('all');
    await page.getByRole('rowheader', { name: 'other' }).waitFor();
    await page.getByRole('rowheader', { name: 'owner' }).waitFor();
  });
});
