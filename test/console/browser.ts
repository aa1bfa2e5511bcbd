/** Pages of the console in a real browser, where every fault that the browser reports fails the test. */
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type axe from 'axe-core';
import type { BrowserContext, Page } from 'playwright-core';
import { afterEach, describe, expect } from 'vitest';
import { CHROMIUM, hasChromium, SERVER_NAME, sharedBrowser } from '../browser.ts';
import { type DaemonSettings, OWNER_KEY, sharedDaemon, type TestDaemon } from '../daemon.ts';

/** Folder for screenshots; without it none are made. */
const SCREENSHOTS = process.env['ORIEL_SCREENSHOTS'];

/** Widths that pages are checked at, and those of screenshots. */
const WIDTHS = [360, 1280, 2560];
const SHOWN_WIDTHS = [390, 1280, 1920];

/** The library in the browser. */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The rules of axe-core about colours. */
const OF_COLOURS = ['color-contrast', 'link-in-text-block'];

export interface OpenOptions {
  /** Key to be signed in with; null for none, the owner's by default. */
  readonly key?: string | null;
  /** Address of the server as the browser sees it, such as that of a proxy. */
  readonly server?: string;
  readonly width?: number;
}

export interface ConsoleTest {
  daemon(): TestDaemon;
  /** Address of the daemon as the browser sees it. */
  url(): string;
  /** Opens a place of the console (`chat`, `tasks/task_1?a=b`), signed in. The test's end closes it. */
  open(place: string, options?: OpenOptions): Promise<Page>;
  /** Sends JSON to the API with a key, the owner's by default. */
  post(path: string, body: object, key?: string): Promise<Response>;
  /** Makes a key of an account, which is made too unless it exists. @param options of the new account */
  createKey(account?: string, options?: object): Promise<string>;
  /** Types a key on the page for signing in. */
  signIn(page: Page, key?: string): Promise<void>;
  /** Allows errors that a test brings about, by the text of the browser's message: `/status of 401/`. */
  allow(expected: RegExp): void;
  /**
   * Checks what a page shows now by axe-core in both themes and for overflow at three widths, and makes
   * screenshots if ORIEL_SCREENSHOTS names a folder.
   *
   * @param name of the screenshots
   */
  check(page: Page, name: string): Promise<void>;
  /** The part of `check` that looks for overflow. */
  checkWidths(page: Page, name: string): Promise<void>;
}

/** Fills fields of the open dialog by their labels, and presses its button. */
export async function submit(
  page: Page,
  fields: Readonly<Record<string, string>>,
  button: string | RegExp,
): Promise<void> {
  const dialog = page.getByRole('dialog');
  for (const [label, text] of Object.entries(fields)) await dialog.getByLabel(label).fill(text);
  await dialog.getByRole('button', { name: button }).click();
}

/** Makes a key by the open dialog. @returns the key */
export async function submitKey(page: Page, fields: Readonly<Record<string, string>>) {
  await submit(page, fields, 'Create key');
  const key = await page
    .getByRole('dialog')
    .getByText(/^sk-oriel-/)
    .textContent();
  await submit(page, {}, 'I have copied it');
  return key!.trim();
}

/** Tests of the console: one daemon with the sandbox and one browser for a file. */
export function describeConsole(
  title: string,
  body: (console: ConsoleTest) => void,
  settings: DaemonSettings = {},
): void {
  describe.skipIf(!hasChromium)(`${title} in a browser (${CHROMIUM})`, () => {
    const daemon = sharedDaemon(settings);
    const browser = sharedBrowser();
    let faults: string[] = [];
    let allowed: RegExp[] = [];
    let contexts: BrowserContext[] = [];
    afterEach(async () => {
      const unexpected = faults.filter((fault) => !allowed.some((one) => one.test(fault)));
      await Promise.all(contexts.map((context) => context.close()));
      [faults, allowed, contexts] = [[], [], []];
      expect(unexpected).toEqual([]);
    });
    const url = () => daemon().url.replace('127.0.0.1', SERVER_NAME);
    const post = (path: string, body: object, key = OWNER_KEY) =>
      daemon().send(path, body, { key });
    const open = async (
      place: string,
      { key = OWNER_KEY, server = url(), width = 1280 }: OpenOptions = {},
    ) => {
      const context = await browser().newContext({
        viewport: { width, height: 800 },
        reducedMotion: 'reduce',
        locale: 'en-GB',
      });
      contexts.push(context);
      if (key !== null) {
        const response = await post('v1/session', {}, key);
        const [, name, value] = /^([^=]+)=([^;]+)/.exec(response.headers.get('set-cookie')!)!;
        await context.addCookies([{ name: name!, value: value!, url: server, httpOnly: true }]);
      }
      const page = await context.newPage();
      page.setDefaultTimeout(120_000);
      page.on('pageerror', (error) => faults.push(String(error)));
      page.on('console', (message) => {
        if (message.type() === 'error' || message.type() === 'warning')
          faults.push(`${message.text()} (${message.location().url})`);
      });
      page.on('request', (request) => {
        const { origin, protocol } = new URL(request.url());
        if (protocol !== 'blob:' && protocol !== 'data:' && origin !== new URL(server).origin) {
          faults.push(`request to ${request.url()}`);
        }
      });
      await page.goto(`${server.replace(/\/$/, '')}/console/${place}`);
      await page.getByRole('main').waitFor();
      return page;
    };
    const createKey = async (account = 'other', options: object = {}) => {
      await post('v1/admin/accounts/create', { name: account, plan: 'paid', ...options });
      const response = await post('v1/admin/keys/create', { account, name: 'web' });
      return ((await response.json()) as { result: { key: string } }).result.key;
    };
    const signIn = async (page: Page, key = OWNER_KEY) => {
      await page.getByLabel('API key').fill(key);
      await page.keyboard.press('Enter');
    };
    const screenshot = async (page: Page, name: string, width: number) => {
      if (SCREENSHOTS === undefined) return;
      mkdirSync(SCREENSHOTS, { recursive: true });
      await page.setViewportSize({ width, height: 800 });
      await page.screenshot({ path: join(SCREENSHOTS, `${name}-${width}.png`) });
    };
    const checkWidths = async (page: Page, name: string) => {
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 800 });
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        expect(wide, `${name} scrolls sideways at ${width} pixels`).toBeLessThanOrEqual(width);
      }
      for (const width of SHOWN_WIDTHS) await screenshot(page, `${name}-light`, width);
    };
    const check = async (page: Page, name: string) => {
      await page.emulateMedia({ colorScheme: 'light' });
      await checkWidths(page, name);
      await page.setViewportSize({ width: 1280, height: 800 });
      expect(await violations(page), `${name}, light`).toEqual([]);
      await page.emulateMedia({ colorScheme: 'dark' });
      for (const width of SHOWN_WIDTHS) await screenshot(page, `${name}-dark`, width);
      // The style sheets choose nothing but colours by the theme.
      expect(await violations(page, OF_COLOURS), `${name}, dark`).toEqual([]);
    };
    const allow = (expected: RegExp) => void allowed.push(expected);
    body({ daemon, url, open, post, createKey, signIn, allow, check, checkWidths });
  });
}

/**
 * Rules of WCAG 2.2 A and AA, and good practice, that the page violates.
 *
 * @param rules of axe-core; all by default
 */
async function violations(page: Page, rules?: string[]): Promise<string[]> {
  // Half a second of CPU: once for a page, and without the copy of itself that `axe.source` contains.
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(AXE);
  return page.evaluate(async (runOnly) => {
    const { axe: checker } = window as unknown as { axe: typeof axe };
    const found = await checker.run({ resultTypes: ['violations'], ...(runOnly && { runOnly }) });
    return found.violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html}: ${failureSummary}`),
    );
  }, rules);
}
