import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { CHROMIUM, hasChromium, SERVER_NAME, sharedBrowser } from '../../browser.ts';
import { OWNER_KEY, sharedDaemon } from '../../daemon.ts';

describe.skipIf(!hasChromium)(`the page /docs in a browser (${CHROMIUM})`, () => {
  const daemon = sharedDaemon({ config: { server: { console: false } } });
  const browser = sharedBrowser();

  const pageUrl = () => daemon().url.replace('127.0.0.1', SERVER_NAME);

  async function openPage(): Promise<{ page: Page; faults: readonly string[] }> {
    const page = await browser().newPage();
    page.setDefaultTimeout(120_000);
    const faults: string[] = [];
    page.on('pageerror', (error) => faults.push(error.message));
    page.on('console', (message) => {
      // Swagger UI plays audio by a GET of the same URL.
      const isPlayed = message.location().url.endsWith('/v1/audio/speech');
      if (message.type() === 'error' && !isPlayed) faults.push(message.text());
    });
    await page.goto(`${pageUrl()}/docs`);
    await page.getByText('/api/free/batch-convert-images').waitFor();
    return { page, faults };
  }

  async function authorize(page: Page): Promise<void> {
    await page.getByRole('button', { name: 'Authorize', exact: true }).first().click();
    await page.getByLabel('Value').fill(OWNER_KEY);
    await page.locator('.auth-btn-wrapper').getByText('Authorize').click();
    await page.getByRole('button', { name: 'Close' }).click();
  }

  it('shows every endpoint over plain HTTP, and tries one out with a key', async () => {
    const { page, faults } = await openPage();
    await page.getByText('/v1/tasks/{task_id}', { exact: true }).waitFor();
    await authorize(page);
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
