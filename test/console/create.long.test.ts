import type { Page } from 'playwright-core';
import sharp from 'sharp';
import { expect, it } from 'vitest';
import { type Task, type TaskList, urlsOf } from '../../src/console/api/tasks.ts';
import { quadrants } from '../fixtures/images.ts';
import { describeConsole } from './browser.ts';

const tiles = (page: Page) => page.locator('.tile');

async function create(page: Page, prompt: string): Promise<void> {
  await page.getByLabel('Prompt', { exact: true }).fill(prompt);
  await page.getByRole('button', { name: 'Create', exact: true }).click();
}

/** Waits until the images of a page are drawn. */
async function drawn(page: Page, count: number): Promise<void> {
  const images = page.locator('.tile img');
  await expect.poll(() => images.count()).toBe(count);
  for (const image of await images.all()) {
    await image.scrollIntoViewIfNeeded();
    await expect
      .poll(() => image.evaluate((one) => (one as HTMLImageElement).naturalWidth))
      .toBeGreaterThan(0);
  }
}

describeConsole(
  'the view for creating media',
  ({ daemon, url, open, post, createKey, signIn, check, allow }) => {
    const tasks = async () => {
      const response = await daemon().request('v1/tasks');
      return ((await response.json()) as TaskList).data;
    };

    it('makes images in a size chosen by its shape, once for a double click, and shows them', async () => {
      const page = await open('create');
      await page.getByText('No images yet').waitFor();
      await check(page, 'create-empty');
      await page.getByRole('button', { name: 'Create', exact: true }).click();
      await page.getByText('Write what to make.').waitFor();
      const prompt = page.getByLabel('Prompt', { exact: true });
      expect(await prompt.evaluate((field) => field === document.activeElement)).toBe(true);
      await prompt.fill('A lighthouse <b>at dusk</b>');
      await page.getByRole('radio', { name: '3:2 1536×1024' }).check();
      await page.getByLabel('Number of images').selectOption('2');
      await page.getByText('Costs up to 0.08 of 1,000 credits').waitFor();
      await page.getByRole('button', { name: 'Create', exact: true }).dblclick();
      await drawn(page, 2);
      await page.getByText('of 999.92 credits').waitFor();
      expect(await tasks()).toHaveLength(1);
      await tiles(page).getByText('A lighthouse <b>at dusk</b>').waitFor();
      await check(page, 'create-image');
      await page.getByText('This request from a program').click();
      await page.getByRole('tab', { name: 'OpenAI SDK' }).click();
      await page.getByText(`"size": "1536x1024"`).waitFor();
      await page.reload();
      await drawn(page, 2);
      expect(await prompt.inputValue()).toBe('A lighthouse <b>at dusk</b>');
    });

    it('moves between pictures by keyboard, and edits one where a mask is drawn', async () => {
      const page = await open('create/image');
      await page.getByRole('button', { name: 'Open image 1 of 2' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('heading', { name: 'Image 1 of 2' }).waitFor();
      await page.keyboard.press('ArrowRight');
      await dialog.getByRole('heading', { name: 'Image 2 of 2' }).waitFor();
      expect(page.url()).toMatch(/create\/image\?show=task_\w+\.1$/);
      await page.reload();
      await dialog.getByRole('heading', { name: 'Image 2 of 2' }).waitFor();
      await check(page, 'create-lightbox');
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Open image 1 of 2' }).click();
      await dialog.getByRole('button', { name: 'Edit this image' }).click();
      await page.getByRole('button', { name: 'Draw a mask' }).click();
      const canvas = dialog.locator('canvas');
      await canvas.waitFor();
      const box = (await canvas.boundingBox())!;
      await page.mouse.move(box.x + 60, box.y + 60);
      await page.mouse.down();
      await page.mouse.move(box.x + 160, box.y + 90, { steps: 4 });
      await page.mouse.up();
      await dialog.getByText(/^[\d.]+% of the image may change/).waitFor();
      await dialog.getByRole('button', { name: 'Paint rectangle' }).click();
      await dialog.getByText('100% of the image may change').waitFor();
      await page.keyboard.press('Control+z');
      await dialog.getByLabel('Width').fill('768');
      await page.keyboard.press('Enter');
      await check(page, 'create-mask');
      await dialog.getByRole('button', { name: 'Done' }).click();
      await create(page, 'make it night');
      await drawn(page, 3);
      const [edit, source] = await tasks();
      const pixelsOf = async (task: Task) => {
        const file = await daemon().request(urlsOf(task)[0]!.replace(/^.*\/assets/, 'assets'));
        const image = sharp(Buffer.from(await file.arrayBuffer())).removeAlpha();
        const { data, info } = await image.raw().toBuffer({ resolveWithObject: true });
        expect(info).toMatchObject({ width: 1536, height: 1024, channels: 3 });
        return (x: number, y: number) => [...data.subarray((y * 1536 + x) * 3).subarray(0, 3)];
      };
      const [before, after] = await Promise.all([pixelsOf(source!), pixelsOf(edit!)]);
      // The mask ends at the 768th column, and the sandbox follows it to the pixel.
      for (const y of [0, 500, 1023]) {
        expect(after(768, y)).toEqual(before(768, y));
        expect(after(767, y)).not.toEqual(before(767, y));
      }
    });

    it('makes videos from a first frame, and audio', async () => {
      allow(/status of 400/);
      const page = await open('create/image');
      await page
        .getByRole('button', { name: /^Open image/ })
        .first()
        .click();
      await page.getByRole('button', { name: 'Make a video of it' }).click();
      await page.waitForURL(/create\/video$/);
      await page.getByRole('radio', { name: '9:16' }).check();
      await page.getByLabel('Seconds').fill('99');
      await create(page, 'waves');
      await page.getByText('Use a whole number from 1 to 60.').waitFor();
      await page.getByLabel('Seconds').fill('1');
      await page.getByRole('button', { name: 'Create', exact: true }).click();
      await drawn(page, 1);
      await check(page, 'create-video');
      await page.getByRole('link', { name: 'Audio' }).click();
      await page.getByLabel('Text or description').fill('Good morning.');
      await page.getByLabel('File format').selectOption('mp3');
      await page.getByRole('button', { name: 'Create', exact: true }).click();
      const player = page.locator('audio');
      await expect
        .poll(() => player.evaluate((audio) => (audio as HTMLAudioElement).duration))
        .toBeCloseTo(3, 0);
      await check(page, 'create-audio');
    });

    it('shows refusals at the prompt, and failed tasks with a way to try again', async () => {
      allow(/status of 40[04]/);
      const page = await open('create/image?model=sandbox-image-any');
      await create(page, 'a nude child');
      await page.locator('.field', { hasText: 'Prompt' }).getByRole('alert').waitFor();
      await check(page, 'create-refused');
      await create(page, 'sandbox:fail=service_error a boat');
      const failed = tiles(page).first();
      await failed.getByRole('button', { name: 'Try again' }).waitFor();
      await check(page, 'create-failed');
      const before = (await tasks()).length;
      await failed.getByRole('button', { name: 'Try again' }).click();
      await expect.poll(async () => (await tasks()).length).toBe(before + 1);
      const prompt = page.getByLabel('Prompt', { exact: true });
      await prompt.fill('something else');
      await page.getByRole('button', { name: 'Use its settings' }).first().click();
      await expect.poll(() => prompt.inputValue()).toContain('a boat');
      await page.getByRole('button', { name: 'Bring back the last draft' }).click();
      expect(await prompt.inputValue()).toBe('something else');
      await page.route('**/assets/*.png', (route) => route.fulfill({ status: 404, body: '{}' }));
      await page.reload();
      await page.getByText('This image has been deleted.').first().waitFor();
    });

    it('does not pay twice after a lost answer and a reload, and keeps the draft over signing in', async () => {
      allow(/ERR_FAILED|status of 401/);
      const page = await open('create/image?model=sandbox-image-any');
      const before = (await tasks()).length;
      await page.route('**/v1/images/generations', async (route) => {
        // The name of the server is known to the browser alone.
        await route.fetch({
          url: route.request().url().replace(url(), daemon().url),
          headers: { ...route.request().headers(), origin: daemon().url },
        });
        await route.abort('failed');
      });
      await create(page, 'a ship that is paid once');
      await page.getByText('The server does not answer').waitFor();
      await page.unroute('**/v1/images/generations');
      await page.reload();
      await page.getByRole('button', { name: 'Create', exact: true }).click();
      await tiles(page).getByText('a ship that is paid once').waitFor();
      expect(await tasks()).toHaveLength(before + 1);
      const prompt = page.getByLabel('Prompt', { exact: true });
      await prompt.fill('a prompt that was not sent');
      // The end of the task loads the credits again, which would end the session already.
      await expect.poll(() => page.locator('.waiting').count()).toBe(0);
      await page.context().clearCookies();
      await page.getByRole('button', { name: 'Create', exact: true }).click();
      await page.getByRole('heading', { name: 'Sign in to Oriel' }).waitFor();
      await signIn(page);
      expect(await prompt.inputValue()).toBe('a prompt that was not sent');
    });

    it('uploads images, and polls while there is no stream of events', async () => {
      allow(/status of 503|ERR_FAILED/);
      const page = await open('chat');
      await page.route('**/v1/tasks/events', (route) => route.fulfill({ status: 503, body: '{}' }));
      await page.goto(`${url()}/console/create/image?model=sandbox-image`);
      const photo = await quadrants({ width: 64, height: 48 }).png().toBuffer();
      await page.getByLabel('Image files to start from').setInputFiles([
        { name: '<i>photo.png', mimeType: 'image/png', buffer: photo },
        { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('notes') },
      ]);
      allow(/status of 400/);
      await page.getByRole('img', { name: '<i>photo.png' }).waitFor();
      await page.evaluate(
        (bytes) => {
          const data = new DataTransfer();
          data.items.add(new File([new Uint8Array(bytes)], 'dropped.png', { type: 'image/png' }));
          document.body.dispatchEvent(
            new DragEvent('drop', { bubbles: true, cancelable: true, dataTransfer: data }),
          );
        },
        [...photo],
      );
      await page.getByRole('img', { name: 'dropped.png' }).waitFor();
      await page.getByRole('button', { name: 'Remove dropped.png' }).click();
      await page.getByText(/^notes\.txt: /).waitFor();
      await page.getByRole('radio', { name: 'Make a new image from them' }).check();
      await check(page, 'create-inputs');
      const before = await page.locator('.tile img').count();
      await create(page, 'a new one');
      await expect.poll(() => page.locator('.tile img').count()).toBe(before + 1);
    });

    it('shows nothing of another account', async () => {
      const page = await open('create/image', { key: await createKey('other', { credits: 1 }) });
      await page.getByText('No images yet').waitFor();
      await page.getByText('of 1 credits').waitFor();
    });

    it('shows the prompt of an image that a program asked for', async () => {
      const prompt = 'A harbour in the rain';
      const request = { model: 'sandbox-image', prompt, response_format: 'url' };
      await post('v1/images/generations', request);
      const page = await open('create');
      await tiles(page).getByText(prompt).waitFor();
    });
  },
);
