import { createServer, request } from 'node:http';
import { expect, it } from 'vitest';
import { OWNER_KEY } from '../daemon.ts';
import { listening } from '../fixtures/server.ts';
import { describeConsole } from './browser.ts';

describeConsole('the console', ({ daemon, url, open, post, createKey, signIn, allow, check }) => {
  it('asks for a key, reports a wrong one, and opens the address after signing in', async () => {
    allow(/status of 401/);
    const page = await open('tasks', { key: null });
    await page.getByRole('heading', { name: 'Sign in to Oriel' }).waitFor();
    await check(page, 'sign-in');
    const field = page.getByLabel('API key');
    await field.fill('sk-oriel-no-such-key-0000000000');
    await field.press('Enter');
    await page.getByText('This API key is not known.').waitFor();
    await check(page, 'sign-in-refused');
    await field.fill(OWNER_KEY);
    await field.press('Enter');
    await page.getByRole('heading', { name: 'Tasks', level: 1 }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/console/tasks');
    const [cookie] = await page.context().cookies();
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', secure: false, path: '/' });
    expect(await page.evaluate(() => document.cookie)).toBe('');
    await page.reload();
    await page.getByRole('heading', { name: 'Tasks', level: 1 }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in to Oriel' }).waitFor();
    expect(await page.context().cookies()).toEqual([]);
  });

  it('forgets conversations at signing out, in other tabs too', async () => {
    const page = await open('chat');
    await page.getByLabel('Message').fill('a secret');
    const other = await page.context().newPage();
    await other.goto(`${url()}/console/chat`);
    await other.getByLabel('Message').fill('another secret');
    await page.getByRole('button', { name: 'Sign out' }).click();
    for (const tab of [page, other]) {
      await tab.waitForURL(`${url()}/console/`);
      await tab.getByRole('heading', { name: 'Sign in to Oriel' }).waitFor();
      expect(await tab.evaluate(() => sessionStorage.length)).toBe(0);
    }
    await signIn(page);
    await page.getByRole('navigation').getByRole('link', { name: 'Chat' }).click();
    expect(await page.getByLabel('Message').inputValue()).toBe('');
  });

  it('opens each view at its address', async () => {
    const page = await open('');
    for (const [place, title] of [
      ['', 'Overview'],
      ['images', 'Images'],
      ['chat', 'Chat'],
      ['create', 'Create'],
      ['tasks', 'Tasks'],
      ['usage', 'Usage'],
      ['accounts', 'Accounts & keys'],
      ['teams', 'Teams'],
      ['models', 'Models & routes'],
      ['requests', 'Requests'],
      ['alerts', 'Alerts'],
      ['settings', 'Settings'],
      ['api', 'API'],
    ] as const) {
      await page.goto(`${url()}/console/${place}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      const link = page.getByRole('navigation').getByRole('link', { name: title, exact: true });
      expect(await link.getAttribute('aria-current'), title).toBe('page');
      expect(await page.title()).toBe(`${title} · Oriel`);
    }
  });

  it('shows requests, errors, cost and latency over time, and what is used most', async () => {
    const key = await createKey('busy', { credits: 100 });
    const empty = await open('', { key });
    await empty.getByText('No requests yet').waitFor();
    await empty.getByText('100', { exact: true }).waitFor();
    await check(empty, 'overview-empty');
    const messages = [{ role: 'user', content: 'Hello' }];
    for (const model of ['sandbox-chat', 'sandbox-chat', 'no-such-model']) {
      await (await post('v1/chat/completions', { model, messages }, key)).text();
    }
    const page = await open('');
    await page.getByText('The models here are a sandbox.').waitFor();
    await page.getByRole('img', { name: /^Requests from .*, most on .*: 3$/ }).waitFor();
    await page.getByRole('img', { name: /^Latency from / }).waitFor();
    await page.getByRole('rowheader', { name: 'busy · web' }).waitFor();
    await page.getByRole('rowheader', { name: 'sandbox-chat' }).waitFor();
    await check(page, 'overview');
    await page.getByRole('button', { name: '7 days' }).click();
    // Days, without times of the day.
    await page.getByRole('img', { name: /^Latency from (?!.*\d:\d\d)/ }).waitFor();
    expect(await page.getByText('19 of 20').count()).toBe(1);
    expect(page.url()).toMatch(/\?period=7d$/);
    // Other accounts see their own requests.
    const theirs = await open('', { key: await createKey('idle') });
    await theirs.getByText('No requests yet').waitFor();
  });

  it('moves between views by the keyboard, and keeps addresses for the back button', async () => {
    const page = await open('');
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to content');
    await page.keyboard.press('Enter');
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('main');
    const link = page.getByRole('navigation').getByRole('link', { name: 'Usage' });
    await link.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Usage', level: 1 }).waitFor();
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('main');
    await page.goBack();
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    expect(page.url()).toBe(`${url()}/console/#main`);
  });

  it('hides views of the owner from other accounts, and says so at their addresses', async () => {
    const page = await open('settings', { key: await createKey() });
    await page.getByText('This page is for the owner of the server').waitFor();
    expect(await page.getByRole('link', { name: 'Settings' }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Usage' }).count()).toBe(1);
    await check(page, 'not-owner');
  });

  it('returns to the page for signing in when the key is revoked', async () => {
    allow(/status of 401/);
    const key = await createKey('owner');
    const page = await open('', { key });
    await page.getByRole('heading', { level: 1 }).waitFor();
    await post('v1/admin/keys/revoke', { id: key });
    await page.reload();
    await page.getByRole('heading', { name: 'Sign in to Oriel' }).waitFor();
  });

  it('works behind a proxy below a path', async () => {
    const target = new URL(daemon().url);
    const proxy = createServer((incoming, outgoing) => {
      const { method, headers } = incoming;
      if (!incoming.url!.startsWith('/oriel/')) return void outgoing.writeHead(404).end();
      const path = incoming.url!.slice('/oriel'.length);
      const options = { host: target.hostname, port: target.port, method, path, headers };
      const forwarded = request(options, (answer) => {
        outgoing.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(outgoing);
      });
      incoming.pipe(forwarded);
    });
    const { port } = new URL(await listening(proxy));
    const server = `http://oriel.test:${port}/oriel/`;
    const page = await open('usage/deep?a=b', { key: null, server });
    await signIn(page);
    await page.getByRole('heading', { name: 'Usage', level: 1 }).waitFor();
    expect(await page.context().cookies()).toMatchObject([{ path: '/oriel/' }]);
    await page.getByRole('navigation').getByRole('link', { name: 'Chat' }).click();
    await page.getByRole('heading', { name: 'Chat', level: 1 }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/oriel/console/chat');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in to Oriel' }).waitFor();
  });

  it('keeps the theme that the reader chose', async () => {
    const page = await open('api', { key: null });
    await page.getByLabel('Theme').selectOption('dark');
    await page.reload();
    expect(await page.getByLabel('Theme').inputValue()).toBe('dark');
    const scheme = () =>
      page.evaluate(() => getComputedStyle(document.documentElement).colorScheme);
    expect(await scheme()).toBe('dark');
  });

  const firstPages = [
    ['the page for signing in', null],
    ['the overview', OWNER_KEY],
  ] as const;

  it.each(firstPages)(
    'is ready within a second of CPU time at a quarter of the speed: %s',
    async (_, key) => {
      const page = await open('', { key });
      await page.getByRole('heading', { level: 1 }).waitFor();
      const session = await page.context().newCDPSession(page);
      // CPU time of the main thread: other processes of the machine do not count.
      await session.send('Performance.enable', { timeDomain: 'threadTicks' });
      await session.send('Emulation.setCPUThrottlingRate', { rate: 4 });
      const seconds = async () => {
        const { metrics } = await session.send('Performance.getMetrics');
        return metrics.find(({ name }) => name === 'TaskDuration')!.value;
      };
      const before = await seconds();
      await page.reload();
      await page.getByRole('heading', { level: 1 }).waitFor();
      const used = (await seconds()) - before;
      expect(used).toBeGreaterThan(0);
      expect(used).toBeLessThan(1);
    },
  );

  it.each(firstPages)('loads at most 40 KB at first: %s', async (_, key) => {
    const addresses = new Map<string, string>();
    // What the page asks for again, on a machine under load, is not its first load.
    const sizes = new Map<string, number>();
    const page = await open('', { key });
    const session = await page.context().newCDPSession(page);
    await session.send('Network.enable');
    await session.send('Network.setCacheDisabled', { cacheDisabled: true });
    session.on('Network.requestWillBeSent', ({ requestId, request }) => {
      addresses.set(requestId, request.url);
    });
    session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      sizes.set(addresses.get(requestId)!, encodedDataLength);
    });
    await page.reload({ waitUntil: 'networkidle' });
    const bytes = [...sizes.values()].reduce((sum, size) => sum + size);
    expect(bytes).toBeGreaterThan(5_000);
    expect(bytes).toBeLessThan(40 * 1024);
  });
});
