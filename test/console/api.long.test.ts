import { expect, it } from 'vitest';
import { describeConsole } from './browser.ts';

/** Endpoints that a session cannot use, that need a file first, or that open a WebSocket. */
const NOT_SENT = [
  ...['DELETE /v1/session', 'GET /metrics', 'POST /v1/session'],
  ...['POST /v1/batches', 'GET /v1/responses'],
];

/** Paths that name what a new server does not have. */
const NAMED = /\{(?!model)\w+\}/;

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly tags: string[] }>>>>;
}

describeConsole('the API in the console', ({ daemon, open, url, check }) => {
  it('can be read without a key, at the address /docs too', async () => {
    const page = await open('api', { key: null });
    await page.getByRole('heading', { name: 'Media', level: 2 }).waitFor();
    await page.goto(`${url()}/docs`);
    await page.getByText('/v1/chat/completions').first().waitFor();
    expect(page.url()).toBe(`${url()}/console/api`);
    const endpoint = page.locator('summary').filter({ hasText: 'POST/api/free/batch-crop-images' });
    await endpoint.click();
    await page.getByText('Sign in to send it from here.').waitFor();
    expect(page.url()).toBe(`${url()}/console/api/post/api/free/batch-crop-images`);
    await check(page, 'api-endpoint');
    await page.getByLabel('Find an endpoint').fill('chat stream');
    await page.getByText('1 endpoint').waitFor();
  });

  it('sends examples that succeed as they are', async () => {
    const { paths } = (await (await daemon().request('/openapi.json')).json()) as OpenApi;
    const endpoints = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([method, { tags }]) => {
          const name = `${method.toUpperCase()} ${path}`;
          return tags[0] !== 'Administration' && !NOT_SENT.includes(name) && !NAMED.test(path);
        })
        .map(([method]) => [method, path] as const),
    );
    expect(endpoints.length).toBeGreaterThan(45);
    const page = await open('api');
    const refused: Record<string, string | null> = {};
    for (const [method, path] of endpoints) {
      const endpoint = `${method}${path}`;
      await page.evaluate((place) => {
        history.replaceState(null, '', place);
        dispatchEvent(new PopStateEvent('popstate'));
      }, `${url()}/console/api/${endpoint}`);
      // Until it is drawn, the endpoint before it is open.
      const summary = page.locator('summary').filter({ hasText: `${method.toUpperCase()}${path}` });
      const open = page.locator('details.endpoint[open]').filter({ has: summary });
      await open.getByRole('button', { name: 'Send' }).click();
      const answer = open.locator('.trial [aria-live]');
      await answer.locator('.facts').waitFor();
      const status = answer.locator('.badge.good');
      if ((await status.count()) === 0) refused[endpoint] = await answer.textContent();
    }
    expect(refused).toEqual({});
    await check(page, 'api-answer');
  });

  it('shows errors of the server, and commands that succeed', async () => {
    const page = await open('api/post/v1/embeddings');
    const body = page.getByRole('textbox', { name: 'Body' });
    await body.fill('{"model": "sandbox-embedding", "input"');
    await page.getByText('This is not valid JSON.').waitFor();
    await body.fill('{"model": "sandbox-embedding", "input": "it\'s"}');
    const command = await page.getByRole('region', { name: 'curl', exact: true }).textContent();
    expect(command).toContain(`curl '${url()}/v1/embeddings' \\`);
    expect(command).toContain(`it'\\''s`);
    await page.getByRole('tab', { name: 'curl' }).press('ArrowRight');
    expect(await page.getByRole('tab', { name: 'JavaScript' }).getAttribute('aria-selected')).toBe(
      'true',
    );
  });
});
