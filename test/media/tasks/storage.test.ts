import { statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { filesBelow } from '../../cli/folder.ts';
import { photo } from '../../fixtures/images.ts';
import { gate } from '../../gate.ts';
import { EDITS, GENERATIONS, type Shown } from './client.ts';
import { mediaDaemon } from './media-daemon.ts';

const POST = 'POST /images/edits';
const ROOM = 1_000_000;
const SMALL = { rpm: 1_000_000, uploads: '1MB', history: 10 };

describe('the disk', () => {
  const media = mediaDaemon({ limits: { syncWait: '0s', free: SMALL, paid: SMALL } });
  let picture: Buffer;

  beforeAll(async () => {
    picture = await photo({ width: 250, height: 200 }).png().toBuffer();
    expect(picture.length).toBeGreaterThan(ROOM / 20);
    expect(picture.length).toBeLessThan(ROOM / 3);
  });

  /** Names of all files that the daemon keeps, and their bytes. */
  function kept(): { names: string[]; bytes: number } {
    const folder = join(media().daemon.data, 'assets');
    const names = filesBelow(folder);
    const sizes = names.map(
      (name) => statSync(join(folder, name), { throwIfNoEntry: false })?.size,
    );
    return { names, bytes: sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0) };
  }

  it.each(['edits', 'data: URLs'])('is not filled by %s', async (how) => {
    const { first, ann } = await media.fresh();
    const url = `data:image/png;base64,${picture.toString('base64')}`;
    const submit = () =>
      how === 'edits'
        ? ann.form(EDITS, [
            ['model', 'native'],
            ['prompt', 'a hat'],
            ['image', picture],
          ])
        : ann.post(GENERATIONS, { model: 'native', prompt: 'a hat', input_images: [url] });
    const held = gate();
    const fitting = Math.floor(ROOM / picture.length);
    first.next(POST, ...Array.from({ length: fitting }, () => ({ wait: held.passed })));
    const before = kept();
    const tasks: string[] = [];
    for (let n = 0; n < fitting; n += 1) {
      const { status, body } = await submit();
      expect(status).toBe(202);
      tasks.push(body.task_id);
    }
    for (let n = 0; n < 3; n += 1) {
      const { status, body } = await submit();
      expect([status, body.error.code]).toEqual([402, 'storage_full']);
    }
    // What is refused leaves nothing, and uploads share the room.
    expect(kept().bytes - before.bytes).toBeLessThanOrEqual(ROOM);
    const upload = await ann.form('/v1/images/upload', [['file', picture]]);
    expect([upload.status, upload.body.error.code]).toEqual([402, 'storage_full']);
    const inputs = kept().names.filter((name) => !before.names.includes(name));
    expect(inputs).toHaveLength(fitting);
    held.open();
    for (const id of tasks) expect((await ann.ended(id)).status).toBe('completed');
    // The end of a task takes its inputs away, and makes room for others.
    await expect.poll(() => kept().names.filter((name) => inputs.includes(name))).toEqual([]);
    const { status, body } = await submit();
    expect(status).toBe(202);
    expect((await ann.ended(body.task_id)).status).toBe('completed');
  });

  it('trims the oldest tasks of an account beyond its history', async () => {
    const { ann } = await media.fresh();
    const tasks: Shown[] = [];
    for (let n = 0; n < 12; n += 1) tasks.push(await ann.make({ model: 'any' }));
    const shown = async () => {
      const { body } = await ann.ask('/v1/tasks');
      return (body.data as { task_id: string }[]).map(({ task_id }) => task_id);
    };
    const newest = tasks.slice(2).map(({ task_id }) => task_id);
    await expect.poll(shown).toEqual(newest.toReversed());
    const { status, body } = await ann.ask(`/v1/tasks/${tasks[0]!.task_id}`);
    expect([status, body.error.code]).toEqual([404, 'task_not_found']);
    const image = (task: Shown) => fetch(task.result.data[0].url);
    await expect.poll(async () => (await image(tasks[1]!)).status).toBe(404);
    expect((await image(tasks[2]!)).status).toBe(200);
  });

  it('gives 404 for a task of another account', async () => {
    const { client } = media();
    const [ann, bob] = [await client(), await client()];
    const { task_id: theirs } = await bob.make({ model: 'any' });
    const answers = [];
    for (const id of [theirs, theirs.replace(/.{6}$/, 'xxxxxx')]) {
      const { status, body } = await ann.ask(`/v1/tasks?after=${id}`);
      const { message, ...error } = body.error;
      answers.push({ status, ...error, message: message.replace(id, 'ID') });
    }
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]).toMatchObject({ status: 404, code: 'task_not_found' });
  });
});
