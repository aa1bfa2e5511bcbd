import { expect, it, onTestFinished } from 'vitest';
import { valueOr } from '../../../src/flow.ts';
import { oriel } from '../../oriel.ts';
import { WebhookReceiver } from '../webhook-receiver.ts';
import { mediaDaemon } from './media-daemon.ts';

const media = mediaDaemon();
const POST = 'POST /images/generations';

async function receive(): Promise<WebhookReceiver> {
  const receiver = await WebhookReceiver.open();
  onTestFinished(() => receiver.close());
  return receiver;
}

it('has the task record, signed with the secret of the account', async () => {
  const { first, client } = media();
  const [ann, bob] = await Promise.all([client(), client()]);
  const secretOf = async (one: typeof ann) =>
    (await one.ask('/v1/account/callback-secret')).body.secret as string;
  const [hers, his] = [await secretOf(ann), await secretOf(bob)];
  expect(hers).toMatch(/^whsec_/);
  expect(hers).not.toBe(his);

  const receiver = await receive();
  const done = await ann.make({ model: 'native', n: 2, callback_url: receiver.url });
  first.always(POST, { status: 400, body: { error: { message: 'no' } } });
  const failed = await ann.make({ model: 'native', callback_url: receiver.url });
  const callbacks = [await receiver.nth(1), await receiver.nth(2)];
  for (const [index, [type, task]] of [
    ['task.completed', done] as const,
    ['task.failed', failed] as const,
  ].entries()) {
    const callback = callbacks[index]!;
    expect(callback).toMatchObject({
      method: 'POST',
      path: '/hook',
      headers: { 'content-type': expect.stringContaining('application/json') },
    });
    const payload = WebhookReceiver.verified(hers, callback);
    expect(payload).toEqual({ type, timestamp: expect.any(String), data: task });
    expect(() => WebhookReceiver.verified(his, callback)).toThrow();
  }
  expect(callbacks[0]!.headers['webhook-id']).not.toBe(callbacks[1]!.headers['webhook-id']);
});

it('is signed with both secrets during the overlap after a rotation', async () => {
  const { daemon, ann } = await media.fresh();
  const receiver = await receive();
  const path = '/v1/account/callback-secret';
  const rotate = async (query = '') => {
    const headers = { authorization: `Bearer ${ann.key}` };
    const response = await daemon.request(path + query, { method: 'POST', headers });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  const secrets = [(await ann.ask(path)).body.secret as string];
  for (const query of ['', '', '?drop_previous=true']) {
    const { status, body } = await rotate(query);
    expect(status).toBe(200);
    expect(body['previous_expires'] !== undefined).toBe(query === '');
    expect((await ann.ask(path)).body).toEqual(body);
    secrets.push(String(body['secret']));
    await ann.make({ model: 'any', callback_url: receiver.url });
    const callback = await receiver.nth(secrets.length - 1);
    const isSigned = secrets.map((secret) => {
      return valueOr(() => WebhookReceiver.verified(secret, callback) !== undefined, false);
    });
    const signing = query === '' ? 2 : 1;
    expect(isSigned).toEqual(secrets.map((_, index) => index >= secrets.length - signing));
  }
  const { out } = await oriel(['audit', '--data', daemon.data, '--json', '--limit', '3']);
  const { acts } = JSON.parse(out) as { acts: Record<string, unknown>[] };
  for (const act of acts) {
    const who = { key: expect.stringMatching(/^key_/), from: '127.0.0.1', user: null };
    expect(act).toMatchObject({ act: 'accounts.rotate-callback-secret', result: 'done', who });
  }
  for (const secret of secrets) expect(out).not.toContain(secret);
  for (let count = 3; count < 10; count += 1) await rotate();
  const { status, body } = await rotate();
  expect([status, body['error']]).toEqual([
    429,
    expect.objectContaining({ code: 'too_many_rotations' }),
  ]);
});
