import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';

/** Where Debian's package puts it; CI installs it. */
export const CHROMIUM = process.env['CHROMIUM'] ?? '/usr/bin/chromium';

/** A browser is no dependency of ours: where there is none, its tests are skipped. */
export const hasChromium = existsSync(CHROMIUM);

/** A name of 127.0.0.1 that is not localhost, which browsers treat as if it had come over HTTPS. */
export const SERVER_NAME = 'oriel.test';

/** One browser for the tests of a file or a describe block. */
export function sharedBrowser(): () => Browser {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: CHROMIUM,
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-background-networking',
        `--host-resolver-rules=MAP ${SERVER_NAME} 127.0.0.1`,
      ],
    });
  });
  afterAll(() => browser?.close());
  return () => browser;
}
