import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OWNER_KEY, sharedDaemon } from '../daemon.ts';

/** Where Debian's package puts it; CI installs it. */
const CHROMIUM = process.env['CHROMIUM'] ?? '/usr/bin/chromium';

// A browser is no dependency of ours: where there is none, the rest of the suite still runs.
describe.skipIf(!existsSync(CHROMIUM))(`the page /docs in a browser (${CHROMIUM})`, () => {
  const daemon = sharedDaemon();
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: CHROMIUM,
      args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
    });
  });
  afterAll(() => browser.close());

  it('shows every endpoint, and tries one out with a key', async () => {
    const page = await browser.newPage();
    const faults: string[] = [];
    page.on('pageerror', (error) => faults.push(error.message));
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
    await page.goto(`${daemon().url}/docs`);
    await page.getByText('/api/free/batch-convert-images').waitFor();
    await page.getByText('/v1/tasks/{task_id}', { exact: true }).waitFor();

    await page.getByRole('button', { name: 'Authorize', exact: true }).first().click();
    await page.getByLabel('Value').fill(OWNER_KEY);
    await page.locator('.auth-btn-wrapper').getByText('Authorize').click();
    await page.getByRole('button', { name: 'Close' }).click();
    await page
      .locator('[id$="account"].opblock, .opblock')
      .filter({ hasText: /^GET\/v1\/account[^/]/ })
      .first()
      .click();
    await page.getByRole('button', { name: 'Try it out' }).click();
    await page.getByRole('button', { name: 'Execute' }).click();
    await page.locator('.live-responses-table').getByText('"name": "owner"').waitFor();
    expect(faults).toEqual([]);
  });
});
