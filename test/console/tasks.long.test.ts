import { expect, it } from 'vitest';
import { describeConsole } from './browser.ts';

describeConsole('the view of tasks', ({ open, post, createKey, check, allow }) => {
  const create = async (fields: object, kind = 'images') => {
    const body = { prompt: 'A lighthouse at dusk', ...fields };
    const response = await post(`v1/${kind}/generations`, body);
    expect(response.status).toBe(202);
    const { task_id: id } = (await response.json()) as { task_id: string };
    return id;
  };

  it('follows tasks as they change, and filters them', async () => {
    const page = await open('tasks');
    await page.getByText('No tasks here').waitFor();
    await check(page, 'tasks-empty');
    await create({ model: 'sandbox-image' });
    const row = page.getByRole('row', { name: 'A lighthouse at dusk' });
    await row.getByText('completed').waitFor();
    // The duration comes when the list is complete.
    await row.getByText(/^\d+m?s$/).waitFor();
    // A loaded machine may take longer than the ten seconds that are now.
    await row.getByText(/^(now|\d+ sec\.? ago)$/).waitFor();
    await row.locator('img').waitFor();
    await create({ model: 'sandbox-audio' }, 'audio');
    await page.getByRole('cell', { name: 'sandbox-audio' }).waitFor();
    await check(page, 'tasks');
    await page.getByLabel('Type').selectOption('image');
    await page.getByRole('cell', { name: 'sandbox-audio' }).waitFor({ state: 'detached' });
    expect(page.url()).toMatch(/tasks\?type=image$/);
    await page.getByLabel('Model').fill('no-such-model');
    await page.keyboard.press('Enter');
    await page.getByText('No tasks here').waitFor();
    await page.reload();
    await page.getByText('No tasks here').waitFor();
    expect(await page.getByLabel('Model').inputValue()).toBe('no-such-model');
  });

  it('shows a task with its picture, its times and its charge', async () => {
    const id = await create({ model: 'sandbox-image' });
    const page = await open(`tasks/${id}`);
    await page.getByText('completed').waitFor();
    const picture = page.getByRole('img', { name: /^image 1 of 1/ });
    await expect
      .poll(() => picture.evaluate((image) => (image as HTMLImageElement).naturalWidth))
      .toBeGreaterThan(0);
    await page.getByText('Ended').waitFor();
    await page.getByText('credits charged').waitFor();
    await check(page, 'task');
  });

  it('shows no task of another account', async () => {
    allow(/status of 404/);
    const id = await create({ model: 'sandbox-image' });
    const key = await createKey();
    const list = await open('tasks', { key });
    await list.getByText('No tasks here').waitFor();
    const page = await open(`tasks/${id}`, { key });
    await page.getByText('there is no such task').waitFor();
    await check(page, 'task-missing');
  });
});
