import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../oriel.ts';
import { describeConsole, submitKey } from './browser.ts';

describeConsole('the page Connect', ({ open, check, createKey, daemon, post }) => {
  it('makes a key, fills it in, and shows the first request of the copied commands', async () => {
    const page = await open('connect');
    await page.getByRole('link', { name: 'curl' }).click();
    const main = page.getByRole('main');
    await main.getByText(/^Put an API key in place of YOUR_KEY/).waitFor();
    await page.getByRole('button', { name: 'New key' }).click();
    const key = await submitKey(page, { Name: 'laptop' });
    expect(await page.getByLabel('API key').evaluate(selectedLabel)).toBe('laptop (owner)');
    await page.getByLabel('Address').fill(daemon().url);
    await page.getByText('Waiting for the first request').waitFor();

    const shown = (name: string) => page.getByRole('region', { name }).textContent();
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'hello.json'), (await shown('hello.json'))!);
    await page.getByRole('tab', { name: 'Terminal' }).click();
    const commands = (await shown('Terminal'))!;
    expect(commands).toContain(key);
    const { stdout } = await promisify(execFile)('bash', ['-euc', commands], { cwd: folder });
    expect(JSON.parse(stdout)).toMatchObject({ object: 'chat.completion' });
    await page.getByText(/^Connected\. sandbox-chat, status 200, [\d.]+ ?m?s$/).waitFor();
    await check(page, 'connect');

    // Another client waits for its own request, which fails.
    await page.getByRole('link', { name: 'n8n' }).click();
    await page.getByText('Waiting for the first request').waitFor();
    await post('v1/chat/completions', { model: 'none', messages: [] }, key);
    await page.getByText(/^A request failed\. .+status 4\d\d \(\w+\)/).waitFor();
  });

  it('has a place for each client, and works with a key of another account', async () => {
    const key = await createKey('friend', { credits: '100' });
    const page = await open('connect', { key });
    await page.getByRole('region', { name: '~/.codex/config.toml' }).waitFor();
    expect(await page.getByLabel('API key').count()).toBe(0);
    await page.getByRole('link', { name: 'opencode' }).click();
    await page.getByLabel('Model').selectOption('sandbox-reasoner');
    await page.getByText('"model": "oriel/sandbox-reasoner"').waitFor();
    expect(new URL(page.url()).pathname).toMatch(/\/console\/connect\/opencode$/);
    await page.goBack();
    await page.getByRole('region', { name: '~/.codex/config.toml' }).waitFor();
    await check(page, 'connect-codex');
    await page.getByText('Waiting for the first request').waitFor();
    await post('v1/responses', { model: 'sandbox-chat', input: 'Hello' }, key);
    await page.getByText(/^Connected\. sandbox-chat, status 200/).waitFor();
    expect(await page.getByRole('link', { name: /requests of this key/ }).count()).toBe(0);
  });
});

function selectedLabel(select: Element): string | undefined {
  return (select as HTMLSelectElement).selectedOptions[0]?.label;
}
