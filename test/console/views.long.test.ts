import { expect, it } from 'vitest';
import { OWNER_KEY } from '../daemon.ts';
import { describeConsole } from './browser.ts';

/** Properties that tell two elements of a list apart. */
const NAMES = ['id', 'task_id', 'key_id', 'model', 'name', 'key_name'];

/** A copy of an answer whose lists have a number of elements, made from those that are there. */
function withRows(answer: unknown, rows: number): unknown {
  if (Array.isArray(answer) && typeof answer[0] === 'object' && !('at' in answer[0]!)) {
    return Array.from({ length: rows }, (_, index) => {
      const element = answer[index % answer.length] as Record<string, unknown>;
      const names = NAMES.filter((name) => typeof element[name] === 'string');
      const others = names.map((name) => [name, `${element[name] as string}-${index}`]);
      return { ...element, ...(index < answer.length ? {} : Object.fromEntries(others)) };
    });
  }
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) return answer;
  const members = Object.entries(answer).map(([name, part]) => [name, withRows(part, rows)]);
  return Object.fromEntries(members);
}

describeConsole(
  'the views with 0 and 5,000 rows',
  ({ daemon, url, open, post, createKey, check, checkWidths }) => {
    const VIEWS: readonly (readonly [view: string, answers: RegExp])[] = [
      ['', /\/v1\/admin\/overview/],
      ['tasks', /\/v1\/tasks\?/],
      ['usage?accounts=all&by=key', /\/v1\/admin\/usage/],
      ['accounts', /\/v1\/admin\/(?:accounts|keys)\/list/],
      ['teams', /\/v1\/admin\/teams\/list/],
      ['models', /\/v1\/admin\/models/],
      ['requests', /\/v1\/admin\/requests/],
    ];

    /** A key, a team, a request and a task, of which all rows are copies. */
    const something = async () => {
      const prompt = 'A lighthouse at dusk, seen from a boat in a storm, oil on canvas '.repeat(4);
      const key = await createKey('someone', { credits: 100 });
      await post('v1/admin/teams/create', { name: 'crew', account: 'owner', budget_week: '7' });
      const messages = [{ role: 'user', content: 'Hello' }];
      await (await post('v1/chat/completions', { model: 'sandbox-chat', messages }, key)).text();
      await (await post('v1/images/generations', { model: 'sandbox-image', prompt })).text();
    };
    let made: Promise<void> | undefined;

    it.each(VIEWS)('%s', async (view, answers) => {
      made ??= something();
      await made;
      let rows = 0;
      const page = await open('api');
      await page.route(answers, async (route) => {
        const { pathname, search } = new URL(route.request().url());
        // A stream does not end.
        if (pathname.endsWith('/events')) return route.continue();
        const headers = { authorization: `Bearer ${OWNER_KEY}` };
        const answer = await daemon().request(pathname + search, { headers });
        await route.fulfill({ json: withRows(await answer.json(), rows) });
      });
      for (rows of [0, 5000]) {
        await page.goto(`${url()}/console/${view}`);
        await page.getByRole('heading', { level: 1 }).waitFor();
        await page.locator('main :is(.empty, tbody tr, .card)').first().waitFor();
        const name = `${view.replace(/\W.*/, '') || 'start'}-${rows}`;
        // Thousands of rows have the faults of a few, but for their room.
        await (rows === 0 ? check : checkWidths)(page, name);
        const heights = await page
          .locator('.lines tbody tr')
          .evaluateAll((all) => all.map(({ clientHeight }) => clientHeight));
        // One line each, of text, a button or a thumbnail.
        expect(Math.max(0, ...heights)).toBeLessThan(60);
        expect(heights.length).toBeLessThanOrEqual(400);
        const cut = (selector: string) =>
          page
            .locator(selector)
            .evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth).length);
        expect(await cut('.table'), 'tables that scroll at 1280').toBe(0);
        await page.setViewportSize({ width: 390, height: 800 });
        expect(await cut('.lines tbody td'), 'cells cut at 390').toBe(0);
        await page.setViewportSize({ width: 1280, height: 800 });
      }
    });
  },
);
