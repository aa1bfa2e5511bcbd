import { describe, expect, it } from 'vitest';
import { png } from '../media-files.ts';
import { type Answer, EDITS, GENERATIONS } from './client.ts';
import { mediaDaemon } from './media-daemon.ts';

const media = mediaDaemon();
const POST = 'POST /images/generations';
const NEVER = { wait: new Promise(() => {}) };

const statuses = (answers: readonly Answer[]) => answers.map(({ status }) => status).sort();
const names = (answers: readonly Answer[]) =>
  new Set(answers.map(({ body }) => body.task_id as string));

describe('an account without enough credits', () => {
  it('gets 402 and no task', async () => {
    const { first, ann } = await media.fresh({ credits: '11' });
    const { status, body } = await ann.post(GENERATIONS, { model: 'native', prompt: 'a', n: 3 });
    expect(status).toBe(402);
    expect(body.error).toMatchObject({
      type: 'insufficient_quota',
      code: 'insufficient_credits',
      message:
        'this may cost up to 12 credits, which are reserved until it ends; the account has 11 available',
    });
    expect((await ann.ask('/v1/tasks')).body.data).toEqual([]);
    expect(first.requests).toHaveLength(0);
    expect((await ann.make({ model: 'native', n: 2 })).status).toBe('completed');
  });

  it('gets one of two concurrent tasks for its last credits', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { ann } = await media.fresh({ credits: '4' });
      const answers = await Promise.all(
        Array.from({ length: 4 }, () => ann.post(GENERATIONS, { model: 'native', prompt: 'a' })),
      );
      expect(statuses(answers)).toEqual([202, 402, 402, 402]);
      const task = answers.find(({ status }) => status === 202)!;
      await ann.ended(task.body.task_id);
      expect(await ann.credits()).toEqual({ granted: 4, reserved: 0, spent: 4, available: 0 });
    }
  });
});

describe('a key', () => {
  it('cannot exceed its budget', async () => {
    const ann = await media().client({ budget: '10' });
    const { status, body } = await ann.post(GENERATIONS, { model: 'native', prompt: 'a', n: 3 });
    expect([status, body.error.code]).toEqual([402, 'key_budget_exceeded']);
    expect(await ann.make({ model: 'native', n: 2 })).toMatchObject({ status: 'completed' });
    const { status: again } = await ann.post(GENERATIONS, { model: 'native', prompt: 'a' });
    expect(again).toBe(402);
    const { body: account } = await ann.ask('/v1/account');
    expect(account.key.budget).toEqual({ granted: 10, reserved: 0, spent: 8 });
  });

  it('cannot use a model outside its list', async () => {
    const ann = await media().client({ models: 'native' });
    for (const [path, body] of [
      [GENERATIONS, { model: 'any', prompt: 'a' }],
      [`${GENERATIONS}/sync`, { model: 'any', prompt: 'a' }],
      ['/v1/videos/generations', { model: 'film', prompt: 'a' }],
      ['/v1/audio/generations', { model: 'speech', prompt: 'a' }],
      ['/v1/moderations', { model: 'judge', input: 'a' }],
    ] as const) {
      const answer = await ann.post(path, body);
      expect([answer.status, answer.body.error.code]).toEqual([403, 'model_not_allowed']);
    }
    expect((await ann.make({ model: 'native' })).status).toBe('completed');
  });
});

describe('the same idempotency key', () => {
  it('with the same request returns the same task without credits left, and charges once', async () => {
    const { first, ann } = await media.fresh({ credits: '4' });
    const body = { model: 'native', prompt: 'a', size: '1:1' };
    const before = await ann.post(GENERATIONS, body, 'k');
    await ann.ended(before.body.task_id);
    const after = await ann.post(GENERATIONS, { size: '1:1', prompt: 'a', model: 'native' }, 'k');
    expect([after.status, after.body.task_id]).toEqual([202, before.body.task_id]);
    expect(first.to(POST)).toHaveLength(1);
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 4 });
  });

  it('with another request gives 409', async () => {
    const ann = await media().client();
    await ann.post(GENERATIONS, { model: 'native', prompt: 'a' }, 'k');
    for (const [path, body] of [
      [GENERATIONS, { model: 'native', prompt: 'b' }],
      [GENERATIONS, { model: 'native', prompt: 'a', n: 2 }],
      ['/v1/videos/generations', { model: 'film', prompt: 'a' }],
    ] as const) {
      const { status, body: answer } = await ann.post(path, body, 'k');
      expect([status, answer.error.code]).toEqual([409, 'idempotency_conflict']);
    }
  });

  it('is independent between accounts', async () => {
    const { client } = media();
    const [ann, bob] = await Promise.all([client(), client()]);
    const body = { model: 'native', prompt: 'a' };
    const answers = [
      await ann.post(GENERATIONS, body, 'k'),
      await bob.post(GENERATIONS, body, 'k'),
    ];
    expect(names(answers).size).toBe(2);
  });

  it('in concurrent requests gives one task', async () => {
    const { first, ann } = await media.fresh();
    const body = { model: 'native', prompt: 'many times' };
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => ann.post(GENERATIONS, body, 'k')),
    );
    expect(new Set(statuses(answers))).toEqual(new Set([202]));
    expect(names(answers).size).toBe(1);
    await ann.ended(answers[0]!.body.task_id);
    // Tasks of other tests may be under way still.
    const asked = first.to(POST).filter(({ json }) => json.prompt === 'many times');
    expect(asked).toHaveLength(1);
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 4 });
    expect((await ann.ask('/v1/tasks')).body.data).toHaveLength(1);
  });

  it('compares the files of edits', async () => {
    const { first, ann } = await media.fresh();
    const edit = (...files: readonly (readonly [string, Buffer])[]) =>
      ann.form(EDITS, [['model', 'any'], ['prompt', 'a'], ...files], 'k');
    const [one, other] = [png(8, 8, 1), png(8, 8, 2)];
    const answers = await Promise.all([edit(['image', one]), edit(['image', one])]);
    expect(statuses(answers)).toEqual([200, 200]);
    expect(answers[0]!.body).toEqual(answers[1]!.body);
    expect(first.to('POST /images/edits')).toHaveLength(1);
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 4 });
    for (const files of [
      [['image', other]],
      [
        ['image', one],
        ['image', other],
      ],
    ] as const) {
      expect((await edit(...files)).status).toBe(409);
    }
  });

  it('distinguishes a mask from an image of edits', async () => {
    const ann = await media().client();
    const images = [alphaPng(), alphaPng()] as const;
    const edit = (second: string, key: string) =>
      ann.form(
        EDITS,
        [
          ['model', 'any'],
          ['prompt', 'a'],
          ['image', images[0]],
          [second, images[1]],
        ],
        key,
      );
    expect((await edit('image', 'k')).status).toBe(200);
    expect((await edit('mask', 'k')).status).toBe(409);
  });
});

it('reserves the credits of a running task', async () => {
  const { first, ann } = await media.fresh({ credits: '10' });
  first.always(POST, NEVER);
  await ann.begin({ model: 'native', n: 2 });
  expect((await ann.post(GENERATIONS, { model: 'native', prompt: 'a' })).status).toBe(402);
});

/** A PNG with alpha, of one pixel. */
function alphaPng(): Buffer {
  return Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  );
}
