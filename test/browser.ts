import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';
import { beforeAll } from 'vitest';
import { onProcessEnd } from './oriel.ts';

/** Where Debian's packages put it. CI installs the first, which opens a page for a quarter of the other's CPU. */
const BROWSERS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];
export const CHROMIUM = process.env['CHROMIUM'] ?? BROWSERS.find(existsSync) ?? BROWSERS[1]!;

/** A browser is no dependency of ours: where there is none, its tests are skipped. */
export const hasChromium = existsSync(CHROMIUM);

/** A name of 127.0.0.1 that is not localhost, which browsers treat as if it had come over HTTPS. */
export const SERVER_NAME = 'oriel.test';

let launched: Promise<Browser> | undefined;

/** One browser for all test files that this process runs. Playwright ends it at the exit of the process. */
export function sharedBrowser(): () => Browser {
  let browser: Browser;
  beforeAll(async () => {
    launched ??= launch();
    browser = await launched;
  });
  return () => browser;
}

function launch(): Promise<Browser> {
  onProcessEnd();
  return chromium.launch({
    executablePath: CHROMIUM,
    handleSIGTERM: false,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      `--host-resolver-rules=MAP ${SERVER_NAME} 127.0.0.1`,
    ],
  });
}
