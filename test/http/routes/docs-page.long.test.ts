import { existsSync } from 'node:fs';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OWNER_KEY, sharedDaemon } from '../../daemon.ts';

/** Where Debian's package puts it; CI installs it. */
const CHROMIUM = process.env['CHROMIUM'] ?? '/usr/bin/chromium';

const NAME = 'oriel.test';

// A browser is no dependency of ours: where there is none, the rest of the suite still runs.
describe.skipIf(!existsSync(CHROMIUM))(`the page /docs in a browser (${CHROMIUM})`, () => {
  const daemon = sharedDaemon({ config: { server: { console: false } } });
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: CHROMIUM,
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-background-networking',
        // A name that is not localhost, which browsers treat as if it had come over HTTPS.
        `--host-resolver-rules=MAP ${NAME} 127.0.0.1`,
      ],
    });
  });
  afterAll(() => browser.close());

  const pageUrl = () => daemon().url.replace('127.0.0.1', NAME);

  async function openPage(): Promise<{ page: Page; faults: readonly string[] }> {
    const page = await browser.newPage();
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
