import type { Locator, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { photo, quadrants } from '../fixtures/images.ts';
import { describeConsole } from './browser.ts';

/** A PNG of one pixel. */
const PIXEL = await quadrants({ width: 1, height: 1 }).png().toBuffer();

const MARKDOWN = [
  '# Title <b>not bold</b>',
  '',
  'Some **bold**, `code` and [a link](https://example.com/a), not [this](javascript:alert(1)).',
  '',
  '- one',
  '- two',
  '',
  '```js',
  'const a = "<script>alert(1)</script>";',
  '```',
].join('\n');

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message', { exact: true }).fill(text);
  await page.getByRole('button', { name: 'Send', exact: true }).click();
}

/** Pastes or drops an image as a person would. */
async function give(target: Locator, event: 'paste' | 'drop', name: string): Promise<void> {
  await target.evaluate(
    (element, [type, filename, base64]) => {
      const bytes = Uint8Array.from(atob(base64!), (byte) => byte.charCodeAt(0));
      const transfer = new DataTransfer();
      transfer.items.add(new File([bytes], filename!, { type: 'image/png' }));
      // As file managers do.
      transfer.items.add(filename!, 'text/plain');
      const common = { bubbles: true, cancelable: true };
      element.dispatchEvent(
        type === 'paste'
          ? new ClipboardEvent('paste', { ...common, clipboardData: transfer })
          : new DragEvent('drop', { ...common, dataTransfer: transfer }),
      );
    },
    [event, name, PIXEL.toString('base64')],
  );
}

/** Waits until as many answers are complete. */
async function answered(page: Page, count: number): Promise<void> {
  await page
    .getByRole('article', { name: 'Answer of' })
    .nth(count - 1)
    .getByText('Total')
    .waitFor();
}

describeConsole('the view of chat', ({ open, post, createKey, signIn, check, allow }) => {
  it('sends each message to two models, side by side', async () => {
    const page = await open('chat?model=sandbox-chat');
    await page.getByLabel('Compare with').selectOption('sandbox-reasoner');
    await page.getByText('Each message goes to both models.').waitFor();
    await say(page, 'Second');
    const columns = ['Answers of sandbox-chat', 'Answers of sandbox-reasoner, compared'].map(
      (name) => page.getByRole('region', { name, exact: true }),
    );
    for (const column of columns) await column.getByText('Second', { exact: true }).waitFor();
    await answered(page, 2);
    await columns[1]!.getByRole('article', { name: 'Answer of sandbox-reasoner' }).waitFor();
    await check(page, 'chat-compared');
    const places = await Promise.all(columns.map((column) => column.boundingBox()));
    expect(places[1]!.x).toBeGreaterThan(places[0]!.x + places[0]!.width - 1);
    await columns[1]!.getByRole('button', { name: 'Request and events' }).last().click();
    expect(
      await page.getByRole('button', { name: 'Request and events', expanded: true }).count(),
    ).toBe(1);
    await page.reload();
    await columns[1]!.getByText('Second', { exact: true }).waitFor();
    expect(new URL(page.url()).searchParams.get('with')).toBe('sandbox-reasoner');
  });

  it('talks in each format with settings, keeps turns over a reload, and shows the request', async () => {
    const page = await open('chat');
    await page.getByText('Say something to Sandbox Chat').waitFor();
    await check(page, 'chat-empty');
    await page.getByLabel('System prompt').fill('Be brief.');
    await page.getByLabel('Reasoning effort').selectOption('low');
    await page.getByLabel('Max tokens').fill('500');
    await page.getByLabel('Temperature').fill('7');
    await page.getByText('Use a number from 0 to 2').waitFor();
    await page.getByText('Correct the settings first.').waitFor();
    await page.getByLabel('Temperature').fill('0.5');
    await say(page, MARKDOWN);
    await answered(page, 1);
    await page.getByLabel('API format').selectOption('responses');
    await page.waitForURL(/chat\?model=sandbox-chat&format=responses$/);
    await say(page, 'Second');
    await answered(page, 2);
    await page.getByLabel('API format').selectOption('messages');
    await page
      .getByLabel('Image files')
      .setInputFiles({ name: '<i>pixel.png', mimeType: 'image/png', buffer: PIXEL });
    await page.getByRole('img', { name: '<i>pixel.png' }).waitFor();
    const large = await photo({ width: 2000, height: 1000 }).png().toBuffer();
    await page.getByLabel('Image files').setInputFiles([
      { name: 'large.png', mimeType: 'image/png', buffer: large },
      { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('notes') },
    ]);
    await page.getByText('scaled to 1568 × 784').waitFor();
    await page.getByText('notes.txt is not an image that this browser can read.').waitFor();
    await page.getByRole('button', { name: 'Remove large.png' }).click();
    const message = page.getByLabel('Message', { exact: true });
    await give(message, 'paste', 'pasted.png');
    await give(page.getByRole('article').first(), 'drop', 'dropped.png');
    for (const name of ['pasted.png', 'dropped.png']) {
      await page.getByRole('img', { name }).waitFor();
      await page.getByRole('button', { name: `Remove ${name}` }).click();
    }
    await say(page, 'Third');
    await answered(page, 3);
    const answers = page.getByRole('article', { name: 'Answer of' });
    expect(await answers.getByText('You said: Third').count()).toBe(1);
    expect(await answers.getByText('First token').count()).toBe(3);
    for (const index of [0, 1, 2]) await answers.nth(index).getByText('Credits').waitFor();
    expect(await answers.locator('details').count()).toBe(3);
    const status = page.getByRole('status').filter({ hasText: 'The answer is complete' });
    expect(await status.count()).toBe(1);
    await page.getByLabel('Message', { exact: true }).fill('not sent yet');
    await answers.nth(2).getByRole('button', { name: 'Request and events' }).click();
    const request = page.getByRole('region', { name: 'request', exact: true });
    expect(JSON.parse((await request.textContent())!)).toMatchObject({
      max_tokens: 500,
      system: 'Be brief.',
      temperature: 0.5,
      thinking: { type: 'adaptive' },
      output_config: { effort: 'low' },
      messages: [
        { role: 'user' },
        { role: 'assistant' },
        { role: 'user' },
        { role: 'assistant' },
        { role: 'user', content: [{ type: 'image' }, { type: 'text', text: 'Third' }] },
      ],
    });
    await check(page, 'chat-request');
    await page.getByRole('tab', { name: 'Events' }).click();
    await page.getByText('message_stop').waitFor();
    await page.getByRole('tab', { name: 'Code' }).click();
    await page.getByRole('tab', { name: 'Anthropic SDK' }).click();
    await page.getByText("import Anthropic from '@anthropic-ai/sdk'").waitFor();
    await page.keyboard.press('Escape');
    await page.reload();
    await answered(page, 3);
    expect(await page.getByLabel('Message', { exact: true }).inputValue()).toBe('not sent yet');
    expect(await page.getByLabel('System prompt').inputValue()).toBe('Be brief.');
    expect(await page.getByLabel('API format').inputValue()).toBe('messages');
    await check(page, 'chat-turns');
  });

  it('calls a tool, sends the result that the user writes, and shows the answer', async () => {
    const page = await open('chat?model=sandbox-chat&format=messages');
    await page.getByRole('button', { name: 'Add a tool' }).click();
    const schema = page.getByLabel('Arguments (JSON Schema)');
    const right = await schema.inputValue();
    await schema.fill('{"type": "object"');
    await page.getByText('This is not JSON').waitFor();
    await schema.fill(right);
    await say(page, 'sandbox:call get_weather {"city": "Bern"}');
    const result = page.getByLabel('Result of get_weather');
    await result.fill('{"sky": "<b>clear</b>"}');
    await check(page, 'chat-tool');
    await page.reload();
    expect(await result.inputValue()).toBe('{"sky": "<b>clear</b>"}');
    // The request translates the call to the format that is chosen now.
    await page.getByLabel('API format').selectOption('responses');
    await page.getByRole('button', { name: 'Send the result' }).click();
    await answered(page, 2);
    await page.getByRole('article').last().getByText('<b>clear</b>').waitFor();
  });

  it('keeps what came before a stop, an error and a cut, and tries again', async () => {
    allow(/status of 429|ERR_INCOMPLETE_CHUNKED_ENCODING/);
    const page = await open('chat');
    const last = page.getByRole('article').last();
    await say(page, 'sandbox:fail=hang');
    await last.getByRole('heading').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await last.getByText('Stopped.').waitFor();
    await page.getByRole('status').filter({ hasText: 'The answer is stopped' }).waitFor();

    await say(page, 'sandbox:fail=midstream');
    await last.getByText('the sandbox was asked to fail after some text').waitFor();
    expect(await last.getByText('this answer').count()).toBe(1);
    expect(await last.getByText('sandbox_failure').count()).toBe(1);
    expect(await last.getByText(/^req_/).count()).toBe(1);

    await page.getByLabel('API format').selectOption('responses');
    await say(page, 'sandbox:fail=truncate');
    await last.getByRole('alert').waitFor();
    await check(page, 'chat-failed');

    await say(page, 'sandbox:fail=rate_limit');
    await last.getByText('retry in').waitFor();
    await last.getByRole('button', { name: 'Try again' }).click();
    await last.getByText('retry in').waitFor();

    const first = page.getByRole('article', { name: 'You' }).first();
    await first.getByRole('button', { name: 'Edit' }).click();
    await first.getByLabel('Edit the message').fill('Hello again');
    await first.getByRole('button', { name: 'Send again' }).click();
    await last.getByText('You said: Hello again').waitFor();
    await answered(page, 1);
    expect(await page.getByRole('article').count()).toBe(2);
    await last.getByRole('button', { name: 'Retry' }).click();
    await answered(page, 1);
    await page.getByRole('button', { name: 'New conversation' }).click();
    await page.getByRole('button', { name: 'Delete the messages' }).click();
    await page.getByText('Say something to').waitFor();
  });

  it('shows a conversation to its account alone, and keeps a message that a revoked key could not send', async () => {
    allow(/status of 401/);
    const revoked = await createKey('reader', { credits: 10 });
    const page = await open('chat', { key: revoked });
    await page.getByText('Say something to').waitFor();
    await post('v1/admin/keys/revoke', { id: revoked });
    await say(page, 'My secret');
    await page.getByRole('heading', { name: 'Sign in to Oriel' }).waitFor();
    await signIn(page);
    await page.getByText('Say something to').waitFor();
    expect(await page.getByText('My secret').count()).toBe(0);
    await page.context().clearCookies();
    await page.reload();
    await signIn(page, await createKey('reader', { credits: 10 }));
    await page.getByText('My secret', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('You said: My secret').waitFor();
  });
});
