import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, vi } from 'vitest';
import { markdown } from '../../bench/table.ts';
import { WebhookReceiver } from '../webhook-receiver.ts';
import {
  type Acknowledged,
  Books,
  callbackFaults,
  creditFaults,
  imageFaults,
  isEnded,
  outcomeFaults,
  refusalFaults,
  type TaskRecord,
  webhookId,
} from './books.ts';
import { ACCOUNTS, type ClientRequest, makeOrders, PRICES } from './client-requests.ts';
import type { Random } from './random.ts';
import type { AuditedService } from './service.ts';
import { draw, startUpstream, type Upstream } from './upstream.ts';
import { jsonOf } from './victim.ts';

/** Clients that send orders at once. */
const CLIENTS = 12;

/** What goes on at present, for faults in the middle of it. */
export interface Traffic {
  readonly upstream: Upstream;
  readonly receiver: WebhookReceiver;
}

interface AuditOptions {
  readonly random: Random;
  readonly orders: number;
  readonly faults: number;
  /** What a proxy answers whose service has died. */
  readonly proxyStatuses?: readonly number[];
  /** Starts the service. */
  start(upstream: string): Promise<AuditedService>;
  newKey(account: string, credits: number): Promise<string>;
  /** Causes the fault with a number from 1 on, among traffic. */
  fault(number: number, traffic: Traffic): Promise<void>;
  /** Ends the service and adds what is found in its store and files. */
  finish(books: Books, found: Found): Promise<void>;
}

/** What came of the orders. */
export interface Found {
  readonly upstream: Upstream;
  readonly tasks: readonly { readonly order: ClientRequest; readonly taskId: string }[];
  /** Images and uploads whose answers came. */
  readonly files: number;
}

/** The configuration of the service, with an upstream of `startUpstream`. */
export function configOf(upstream: string): object {
  return {
    pool: { threads: 2 },
    network: { allowPrivateAddresses: true },
    limits: { paid: { rpm: 1_000_000 } },
    routing: { cooldown: { after: 0 } },
    providers: {
      sandbox: { kind: 'sandbox' },
      upstream: { kind: 'openai', baseUrl: upstream, apiKey: 'sk-upstream', concurrency: 4 },
    },
    models: {
      drawn: imageModel('upstream', 'drawn', PRICES.drawn),
      'sandbox-image': imageModel('sandbox', 'image', PRICES['sandbox-image']),
    },
  };
}

function imageModel(provider: string, model: string, price: number): object {
  return {
    type: 'image',
    rules: 'native-size',
    routes: [{ provider, model }],
    price: { perImage: price / 1e6 },
  };
}

/**
 * Sends orders of all kinds through faults, and compares what came of them with what was answered: one
 * task, one charge and one callback for each request.
 *
 * @returns tables of what was looked at
 */
export async function auditOrders(options: AuditOptions): Promise<string> {
  const { random } = options;
  const orders = makeOrders(random, options.orders);
  const upstream = await startUpstream(random);
  onTestFinished(() => upstream.close());
  const service = await options.start(upstream.url);

  const keys = new Map<string, string>();
  const secrets = new Map<string, string>();
  for (const [name, credits] of Object.entries(ACCOUNTS)) {
    const key = await options.newKey(name, credits);
    keys.set(name, key);
    const answer = await service.ask('/v1/account/callback-secret', key);
    secrets.set(name, jsonOf<{ secret: string }>(answer).secret);
  }
  const keyOf = ({ account }: ClientRequest) => keys.get(account)!;
  const receiver = await WebhookReceiver.open();
  // Some are not taken the first time.
  receiver.reply = (_, { path }) => {
    const isFirst = calledFor(Number(path.slice(1))).length === 1;
    return { status: isFirst && Number(path.slice(1)) % 16 === 5 ? 500 : 204 };
  };
  const calledFor = (index: number) => receiver.received.filter(({ path }) => path === `/${index}`);
  onTestFinished(() => receiver.close());

  const photo = await draw(64, 64);
  const dataUrl = `data:image/png;base64,${photo.toString('base64')}`;
  const uploads: string[] = [];
  const upload = async () => {
    const body = new FormData();
    body.set('file', new File([new Uint8Array(photo)], 'photo.png'));
    const key = keys.get('anna')!;
    const answer = await service.ask('/v1/images/upload', key, { method: 'POST', body });
    uploads.push(jsonOf<{ url: string }>(answer).url);
  };

  const send = async (order: ClientRequest): Promise<string | null> => {
    const { index, model, prompt, n, size, callback, input } = order;
    const { status, bytes } = await service.ask('/v1/images/generations', keyOf(order), {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': `order ${index}` },
      body: JSON.stringify({
        ...{ model, prompt, n, size },
        ...(input && { input_images: [dataUrl] }),
        ...(callback && { callback_url: `http://127.0.0.1:${receiver.port}/${index}` }),
      }),
    });
    if (status === 402) return null;
    if (status !== 202) throw new Error(`${prompt}: ${status} ${bytes.toString()}`);
    return (JSON.parse(bytes.toString()) as { task_id: string }).task_id;
  };

  const books = new Books();
  const acknowledged: Acknowledged[] = [];
  const repeated: { order: ClientRequest; ids: (string | null)[] }[] = [];
  let released = 0;
  let taken = 0;
  const client = async () => {
    while (taken < orders.length) {
      if (taken >= released) {
        await delay(20);
        continue;
      }
      const order = orders[taken]!;
      taken += 1;
      const taskId = await send(order);
      acknowledged.push({ order, taskId });
      if (order.twice && taskId !== null)
        repeated.push({ order, ids: [taskId, await send(order)] });
    }
  };
  const clients = Promise.all(Array.from({ length: CLIENTS }, client));
  // Told when it is waited for.
  clients.catch(() => {});

  const uploading: Promise<void>[] = [];
  for (let fault = 1; fault <= options.faults; fault += 1) {
    // New orders before each fault, so that it happens among all that can be going on.
    released = Math.floor((options.orders * fault) / (options.faults + 1));
    uploading.push(upload());
    await options.fault(fault, { upstream, receiver });
  }
  released = options.orders;
  await Promise.all([clients, ...uploading]);

  const tasks = acknowledged.flatMap(({ order, taskId }) =>
    taskId === null ? [] : [{ order, taskId }],
  );
  const records = new Map<string, TaskRecord>();
  const open = new Set(tasks);
  await vi.waitFor(
    async () => {
      for (const task of open) {
        const answer = await service.ask(`/v1/tasks/${task.taskId}`, keyOf(task.order));
        const record = jsonOf<TaskRecord>(answer);
        records.set(task.taskId, record);
        if (answer.status !== 200 || isEnded(record)) open.delete(task);
      }
      expect(open.size).toBe(0);
    },
    { timeout: 300_000, interval: 250 },
  );
  const withCallback = tasks.filter(({ order }) => order.callback);
  const deliveries = new Map<string, { id: string; status: string }[]>();
  await vi
    .waitFor(
      async () => {
        for (const { order, taskId } of withCallback) {
          const answer = await service.ask(`/v1/tasks/${taskId}/callbacks`, keyOf(order));
          deliveries.set(taskId, jsonOf<{ data: { id: string; status: string }[] }>(answer).data);
        }
        const statuses = [...deliveries.values()].flat().map(({ status }) => status);
        expect(statuses.filter((status) => status === 'pending')).toEqual([]);
      },
      { timeout: 90_000, interval: 250 },
    )
    .catch(() => {});

  const done = tasks.map((task) => ({ ...task, record: records.get(task.taskId)! }));
  await books.check('orders that were refused', acknowledged, refusalFaults);
  await books.check('orders that were sent twice', repeated, ({ order, ids }) =>
    ids[0] === ids[1] ? [] : [`${order.prompt} is ${ids.join(' and ')}`],
  );
  await books.check('tasks that ended', done, ({ taskId, record }) =>
    record.task_id === taskId && isEnded(record) ? [] : [`${taskId} is ${JSON.stringify(record)}`],
  );
  await books.check('what came of them', done, ({ order, record }) => outcomeFaults(order, record));
  await books.check('tasks with callbacks', keys, async ([account, key]) => {
    const listed = await listTasks(service, key);
    const known = done.filter(({ order }) => order.account === account);
    const strangers = listed.filter((id) => !known.some(({ taskId }) => taskId === id));
    const missing = known.filter(({ taskId }) => !listed.includes(taskId));
    return [
      ...strangers.map((id) => `${id} was never acknowledged`),
      ...missing.map(({ taskId }) => `${taskId} is not listed`),
    ];
  });
  await books.check('sums of accounts', keys, ([name, key]) => {
    const own = done.filter(({ order }) => order.account === name);
    return creditFaults(service, name, key, own);
  });
  const images = done.flatMap(({ order, record }) =>
    (record.result?.data ?? []).map(({ url }) => ({ url, order })),
  );
  await books.check('images', images, ({ url, order }) => imageFaults(url, order.size));
  await books.check('uploads', uploads, (url) => imageFaults(url, '64x64'));
  await books.check('callbacks', withCallback, ({ order, taskId }) => {
    const secret = secrets.get(order.account)!;
    return callbackFaults(calledFor(order.index), secret, records.get(taskId)!);
  });
  await books.check('deliveries', withCallback, ({ order, taskId }) => {
    const is = deliveries.get(taskId)?.map(({ id, status }) => `${id} ${status}`);
    const expected = calledFor(order.index)
      .slice(0, 1)
      .map((one) => `${webhookId(one)} delivered`);
    return `${is}` === `${expected}` ? [] : [`${taskId}: ${is}, expected ${expected}`];
  });
  const silent = done.filter(({ order }) => !order.callback);
  await books.check('tasks without a callback URL', silent, ({ order }) =>
    calledFor(order.index).map(({ path }) => `${path} was called`),
  );
  await books.check('statuses of answers', service.statuses, ([status, count]) =>
    [200, 202, 402, 503, ...(options.proxyStatuses ?? [])].includes(status)
      ? []
      : [`${count} times ${status}`],
  );

  await options.finish(books, { upstream, tasks, files: images.length + uploads.length });

  const drawn = images.filter(({ order }) => order.model === 'drawn').length;
  const facts = [
    ['faults', options.faults],
    ['orders', orders.length],
    ['tasks', tasks.length],
    ['refused for want of credits', orders.length - tasks.length],
    [
      'given up after too many kills',
      done.filter(({ record }) => record.error?.code === 'task_abandoned').length,
    ],
    ['answers lost', service.lost],
    ['callbacks received', receiver.received.length],
    ['callbacks to be received', withCallback.length],
    ['images that the upstream made', upstream.made()],
    ['images of these that were charged', drawn],
  ] as const;
  const report = [
    markdown({
      headings: ['what', 'count'],
      rows: facts.map(([what, count]) => [what, `${count}`]),
    }),
    markdown({
      headings: ['looked at', 'count', 'faults'],
      rows: books.rows.map(({ what, looked, faults }) => [what, `${looked}`, `${faults}`]),
    }),
    ...books.faults,
  ].join('\n\n');
  expect(books.faults, report).toEqual([]);
  // Otherwise it has shown nothing.
  expect(acknowledged.filter(({ taskId }) => taskId === null)).not.toEqual([]);
  expect(drawn).toBeLessThanOrEqual(upstream.made());
  expect(service.lost).toBeGreaterThan(0);
  return report;
}

async function listTasks(service: AuditedService, key: string): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const last = ids.at(-1);
    const query = last === undefined ? '' : `&after=${last}`;
    const answer = await service.ask(`/v1/tasks?limit=100${query}`, key);
    const page = jsonOf<{ data: readonly TaskRecord[]; has_more: boolean }>(answer);
    ids.push(...page.data.map(({ task_id }) => task_id));
    if (!page.has_more) return ids;
  }
}
