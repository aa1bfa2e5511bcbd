import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OWNER_KEY, sharedDaemon, startDaemon, type TestDaemon } from '../../daemon.ts';
import { describeWithPostgres } from '../../engines/postgres.ts';
import { gate } from '../../gate.ts';
import { Random } from '../../media/kill/random.ts';
import { testDisk } from '../../media/tasks/restart.ts';
import { WebhookReceiver } from '../../media/webhook-receiver.ts';
import { temporaryFolder } from '../../oriel.ts';
import { newKey } from '../gateway-daemon.ts';
import { type MockUpstream, startMockUpstream } from '../mock-upstream.ts';
import { type Script, USAGE } from '../script.ts';

const model = 'talk';

const KILLS = Number(process.env['ORIEL_KILLS'] ?? 2);
const SEED = Number(process.env['ORIEL_SEED'] ?? randomInt(2 ** 31));

/** Answers that end when their daemon is killed. */
const CROWD = 30;
const says = (text: string): Script => ({ steps: [{ text }], usage: USAGE });

let upstream: MockUpstream;
let receiver: WebhookReceiver;
beforeAll(async () => {
  upstream = await startMockUpstream();
  receiver = await WebhookReceiver.open();
});
afterAll(async () => {
  await Promise.all([upstream.close(), receiver.close()]);
});

const configWith = (store: object = {}) => ({
  store,
  network: { allowPrivateAddresses: true },
  routing: { retries: 0 },
  owner: { credits: 1000 },
  limits: { paid: { rpm: 1_000_000 } },
  providers: { talks: { kind: 'openai', baseUrl: upstream.url, apiKey: 'sk-test' } },
  models: {
    [model]: {
      type: 'text',
      routes: [{ provider: 'talks', model: 'gpt' }],
      price: { input: 1000, output: 1000 },
      maxOutputTokens: 1000,
    },
  },
});

const clientOf = ({ url }: TestDaemon, apiKey = OWNER_KEY) =>
  new OpenAI({ apiKey, baseURL: `${url}/v1`, maxRetries: 0 });

/** Credits that the account has spent. */
async function spentOf({ url }: TestDaemon, key: string): Promise<number> {
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(`${url}/v1/account`, { headers });
  const account = (await response.json()) as { readonly credits: { readonly spent: number } };
  return account.credits.spent;
}

async function ended(client: OpenAI, id: string): Promise<OpenAI.Responses.Response> {
  for (;;) {
    const response = await client.responses.retrieve(id);
    if (response.status !== 'queued' && response.status !== 'in_progress') return response;
    await delay(250);
  }
}

/** Texts of the messages of a conversation, newest first. */
async function textsIn({ conversations }: OpenAI, id: string): Promise<string[]> {
  const texts: string[] = [];
  for await (const item of conversations.items.list(id)) {
    const [part] = (item as OpenAI.Conversations.Message).content;
    texts.push((part as { readonly text: string }).text);
  }
  return texts;
}

/** Two daemons that follow each other in one place, or that share a store. */
function describeSurvival(start: () => Promise<readonly [TestDaemon, () => Promise<TestDaemon>]>) {
  it(`continues a response at once after its daemon was killed, answers one in the background once, and stores and charges answers together through ${KILLS} kills`, async () => {
    const [first, successor] = await start();
    const held = gate();
    upstream.play({ steps: [{ wait: held.passed }, { text: 'Lost.' }] }, says('Hello Ada.'));
    const path = `/of-${first.url.replace(/\D/g, '')}`;
    const callback_url = receiver.url + path;
    const body = { model, input: 'Work.', background: true, callback_url };
    // For one reservation: that of the killed node returns later than its work.
    const key = await newKey(first, 'worker', { credits: '1.9' });
    const queued = await clientOf(first, key).responses.create(body);
    await upstream.received(0);
    const stream = clientOf(first).responses.stream({ model, input: 'I am Ada.' });
    let said = '';
    for await (const event of stream) {
      if (event.type !== 'response.completed') continue;
      said = event.response.id;
      await first.stop('SIGKILL');
      break;
    }
    // For both requests, whichever comes first.
    upstream.play(says('Done.'), says('Done.'));
    held.open();
    const daemon = await successor();
    const next = await clientOf(daemon).responses.create({
      model,
      input: 'And?',
      previous_response_id: said,
    });
    expect(next.output_text).toBe('Done.');
    const done = await ended(clientOf(daemon, key), queued.id);
    expect([done.status, done.output_text]).toEqual(['completed', 'Done.']);
    const charge = (USAGE.input + USAGE.output) / 1000;
    await expect.poll(() => spentOf(daemon, key)).toBe(charge);
    const own = () => receiver.received.filter((one) => one.path.endsWith(path));
    await expect.poll(own).toHaveLength(1);
    expect(JSON.parse(own()[0]!.body)).toMatchObject({
      type: 'response.completed',
      data: { id: queued.id },
    });
    const lengths = upstream.requests.map(({ body }) => body.messages.length as number);
    expect(lengths.toSorted()).toEqual([1, 3]);
    await throughKills(daemon, successor);
  });
}

/** Kills daemons while they write answers of a crowd, and checks each answer and the sum of the charges. */
async function throughKills(first: TestDaemon, successor: () => Promise<TestDaemon>) {
  let daemon = first;
  const key = await newKey(first, 'crowd', { credits: '1000' });
  const { id: conversation } = await clientOf(first, key).conversations.create();
  const random = new Random(SEED);
  console.info(`ORIEL_SEED=${SEED} ORIEL_KILLS=${KILLS}`);
  const ids: string[] = [];
  for (let kill = 0; kill < KILLS; kill += 1) {
    const held = gate();
    upstream.play({ steps: [{ wait: held.passed }, { text: 'Done.' }], usage: USAGE });
    const { responses } = clientOf(daemon, key);
    const body = { model, input: 'Work.', background: true, conversation };
    const queued = await Promise.all(Array.from({ length: CROWD }, () => responses.create(body)));
    ids.push(...queued.map(({ id }) => id));
    await upstream.received(CROWD - 1);
    held.open();
    await delay(random.whole(10, 80));
    await daemon.stop('SIGKILL');
    daemon = await successor();
  }
  const client = clientOf(daemon, key);
  let completed = 0;
  for (const id of ids) {
    const { output_text, status, error } = await ended(client, id);
    if (status === 'completed') completed += 1;
    // After three interruptions.
    else expect([status, error?.message]).toEqual(['failed', expect.stringContaining('interrupt')]);
    expect(output_text).toBe(status === 'completed' ? 'Done.' : '');
  }
  expect(completed).toBeGreaterThan(0);
  // The question and the answer of each, once.
  expect(await textsIn(client, conversation)).toHaveLength(2 * completed);
  const charge = (completed * (USAGE.input + USAGE.output)) / 1000;
  await expect.poll(() => spentOf(daemon, key), { timeout: 20_000 }).toBeCloseTo(charge, 6);
}

/**
 * A response in a conversation writes three document files: those of its two items, and its own. In the background
 * the first write renews the claim.
 */
const WRITES = [
  { direct: 1, inBackground: 3 },
  { direct: 3, inBackground: 4 },
];

describe('one daemon', () => {
  it('adds items to a conversation with the answer, killed at each write', async () => {
    const data = temporaryFolder();
    const disk = testDisk(join(temporaryFolder(), 'disk.json'));
    const next = () => startDaemon({ data, config: configWith(), env: disk.env });
    let daemon = await next();
    const kill = (kills: number) => disk.set({ fails: ['/documents/[^/]*new open'], kills });
    for (const { direct, inBackground } of WRITES) {
      const { id: conversation } = await clientOf(daemon).conversations.create();
      const ask = { model, input: 'Work.', conversation };
      upstream.play(says('Lost.'));
      kill(direct);
      await expect(clientOf(daemon).responses.create(ask), `${direct}`).rejects.toThrow();
      disk.set({});
      daemon = await next();
      expect(await textsIn(clientOf(daemon), conversation)).toEqual([]);

      const held = gate();
      upstream.play({ steps: [{ wait: held.passed }, { text: 'Lost.' }] }, says('Done.'));
      const queued = await clientOf(daemon).responses.create({ ...ask, background: true });
      await upstream.received(0);
      kill(inBackground);
      held.open();
      await daemon.ended;
      disk.set({});
      daemon = await next();
      expect(await ended(clientOf(daemon), queued.id)).toMatchObject({ output_text: 'Done.' });
      expect(await textsIn(clientOf(daemon), conversation)).toEqual(['Done.', 'Work.']);
    }
  });

  describeSurvival(async () => {
    const data = temporaryFolder();
    const config = configWith();
    const next = () => startDaemon({ data, config });
    return [await next(), next];
  });
});

describeWithPostgres('several nodes', (server) => {
  const settings = {
    get config() {
      return configWith({ driver: 'postgres', url: server().url });
    },
  };
  const shared = [settings, settings, settings].map(sharedDaemon);

  it('read, follow and cancel responses of each other', async () => {
    const [one, other, third] = shared.map((node) => clientOf(node())) as [OpenAI, OpenAI, OpenAI];
    upstream.play(says('Hello.'));
    const first = await one.responses.create({ model, input: 'Hi' });
    const second = await other.responses.create({
      model,
      input: 'x',
      previous_response_id: first.id,
    });
    await third.responses.create({ model, input: 'y', previous_response_id: second.id });
    expect(upstream.requests.at(-1)!.body.messages).toHaveLength(5);

    const held = gate();
    upstream.play({ steps: [{ wait: held.passed }, { text: 'Late.' }], usage: USAGE });
    const queued = await one.responses.create({
      model,
      input: 'Work.',
      background: true,
      stream: true,
    });
    const typesOf = async (events: AsyncIterable<{ readonly type: string }>) => {
      const types: string[] = [];
      for await (const { type } of events) types.push(type);
      return types;
    };
    await upstream.received(0);
    const events = queued[Symbol.asyncIterator]();
    const { value: created } = await events.next();
    const { id: streamed } = (created as OpenAI.Responses.ResponseCreatedEvent).response;
    const reading = typesOf({ [Symbol.asyncIterator]: () => events });
    const followed = typesOf(await other.responses.retrieve(streamed, { stream: true }));
    held.open();
    expect(await followed).toEqual(['response.created', ...(await reading)]);

    const never = gate();
    upstream.play({ steps: [{ wait: never.passed }] });
    const { id } = await one.responses.create({ model, input: 'Work.', background: true });
    await upstream.received(0);
    expect((await other.responses.cancel(id)).status).toBe('cancelled');
    expect((await third.responses.retrieve(id)).status).toBe('cancelled');
    never.open();
  });

  // A second try begins where the first ended, with nodes of its own.
  const left = [...shared];
  const next = async () => left.shift()?.() ?? startDaemon(settings);
  describeSurvival(async () => [await next(), next]);
});
