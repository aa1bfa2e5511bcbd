import { setTimeout as sleep } from 'node:timers/promises';
import { type Received, WebhookReceiver } from '../../media/webhook-receiver.ts';
import { type Answer, ask, jsonOf } from '../client.ts';
import { MEDIA_COSTS } from '../configuration.ts';
import { sha256, type Tenant } from './tenant.ts';

interface TaskRecord {
  readonly task_id: string;
  readonly status: string;
  readonly type: 'image' | 'video' | 'audio';
  readonly result: { readonly data?: readonly { readonly url: string }[] } | null;
}

/** Number of compared items, for the report. */
export interface Reconciled {
  readonly tasks: number;
  readonly uploads: number;
  readonly callbacks: number;
  /** Micro-credits that were spent. */
  readonly spent: number;
}

/** Milliseconds in which tasks must end and callbacks must arrive once the load is over. */
const SETTLE_TIMEOUT = 180_000;

const LOST = 'nothing acknowledged is lost';
const SUMS = 'all sums are consistent';

async function read(tenant: Tenant, path: string): Promise<Answer> {
  for (let attempt = 0; ; attempt += 1) {
    const answer = await ask(tenant.context.url, { path, key: tenant.key, timeout: 60_000 });
    if ((answer.status !== 503 && answer.status !== 429) || attempt === 60) return answer;
    await sleep(1000);
  }
}

/** Every element of a paged list, newest first. */
async function everyPage<Row>(
  tenant: Tenant,
  path: string,
  idOf: (row: Row) => unknown,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (;;) {
    const last = rows.at(-1);
    const after = last === undefined ? '' : `&after=${String(idOf(last))}`;
    const page = jsonOf(await read(tenant, `${path}?limit=100${after}`)) as
      | { data?: Row[]; has_more?: boolean }
      | undefined;
    rows.push(...(page?.data ?? []));
    if (page?.has_more !== true) return rows;
  }
}

/** Compares a tenant's acknowledged work with the state of the daemon when the load is over. */
export async function reconcile(
  tenant: Tenant,
  received: readonly Received[],
): Promise<Reconciled> {
  const until = performance.now() + SETTLE_TIMEOUT;
  const records = await settledTasks(tenant, until);
  const byId = new Map(records.map((record) => [record.task_id, record]));
  for (const { id, type } of tenant.tasks) {
    const record = byId.get(id);
    if (record === undefined) tenant.violates(LOST, `task ${id} is gone`);
    else if (record.type !== type) tenant.violates(LOST, `task ${id} is of type ${record.type}`);
    else if (record.status !== 'completed')
      tenant.violates('good tasks complete', JSON.stringify(record));
  }
  for (const record of records) {
    for (const { url } of record.result?.data ?? []) {
      const answer = await read(tenant, new URL(url).pathname);
      if (answer.status !== 200 || answer.body.length === 0) {
        tenant.violates(LOST, `the result ${url} answers ${answer.status}`);
      }
    }
  }
  for (const [url, digest] of tenant.uploads) {
    const answer = await read(tenant, new URL(url).pathname);
    if (answer.status !== 200 || sha256(answer.body) !== digest) {
      tenant.violates(LOST, `the upload ${url} answers ${answer.status} with other bytes`);
    }
  }
  const callbacks = await checkCallbacks(tenant, byId, received, until);
  const spent = await checkSums(tenant, records);
  return { tasks: records.length, uploads: tenant.uploads.size, callbacks, spent };
}

const hasEnded = ({ status }: TaskRecord) => status !== 'pending' && status !== 'processing';

async function settledTasks(tenant: Tenant, until: number): Promise<TaskRecord[]> {
  for (;;) {
    const records = await everyPage<TaskRecord>(tenant, '/v1/tasks', ({ task_id: id }) => id);
    const open = records.filter((record) => !hasEnded(record));
    if (open.length === 0) return records;
    if (performance.now() > until) {
      tenant.violates('every task ends', `${open.length} have not: ${JSON.stringify(open[0])}`);
      return records;
    }
    await sleep(1000);
  }
}

async function checkCallbacks(
  tenant: Tenant,
  records: ReadonlyMap<string, TaskRecord>,
  received: readonly Received[],
  until: number,
): Promise<number> {
  const wanted = tenant.tasks.filter(({ hasCallback }) => hasCallback);
  for (;;) {
    const byTask = new Map<string, Received[]>();
    for (const callback of received) {
      const id = /"task_id":"([^"]+)"/.exec(callback.body)?.[1] ?? '';
      byTask.set(id, [...(byTask.get(id) ?? []), callback]);
    }
    const missing = wanted.filter(({ id }) => !byTask.has(id));
    if (missing.length > 0 && performance.now() < until) {
      await sleep(1000);
      continue;
    }
    for (const { id } of missing) tenant.violates(LOST, `the callback of ${id} never came`);
    for (const { id } of wanted) {
      const own = byTask.get(id) ?? [];
      const ids = new Set(own.map(({ headers }) => headers['webhook-id']));
      if (ids.size > 1)
        tenant.violates('callbacks are signed and have distinct ids', `${id} has ${ids.size} ids`);
      for (const callback of own) {
        try {
          const { type } = WebhookReceiver.verified(tenant.secret, callback) as { type: string };
          const expected = `task.${records.get(id)?.status}`;
          if (type !== expected)
            tenant.violates('callbacks are signed and have distinct ids', `${id}: ${type}`);
        } catch (error) {
          tenant.violates('callbacks are signed and have distinct ids', `${id}: ${String(error)}`);
        }
      }
    }
    return wanted.length - missing.length;
  }
}

const micro = (credits: number) => Math.round(credits * 1e6);

/** @returns micro-credits that the account has spent */
async function checkSums(tenant: Tenant, records: readonly TaskRecord[]): Promise<number> {
  const { credits } = jsonOf(await read(tenant, '/v1/account')) as {
    credits: Record<'granted' | 'reserved' | 'spent' | 'available', number>;
  };
  const [granted, reserved, spent, available] = [
    micro(credits.granted),
    micro(credits.reserved),
    micro(credits.spent),
    micro(credits.available),
  ];
  if (granted !== reserved + spent + available) tenant.violates(SUMS, JSON.stringify(credits));
  if (reserved !== 0) tenant.violates(SUMS, `${reserved} micro-credits are still reserved`);

  const usage = jsonOf(await read(tenant, '/v1/account/usage')) as { data: { credits: number }[] };
  const used = usage.data.reduce((sum, row) => sum + micro(row.credits), 0);
  if (used !== spent) tenant.violates(SUMS, `usage says ${used}, the account ${spent}`);

  interface Entry {
    readonly id: number;
    readonly type: string;
    readonly amount: number;
    readonly task_id: string | null;
  }
  const ledger = await everyPage<Entry>(tenant, '/v1/account/credits', ({ id }) => id);
  const charges = ledger.filter(({ type }) => type === 'charge');
  const charged = charges.reduce((sum, { amount }) => sum + Math.abs(micro(amount)), 0);
  // Old entries become one `carried` entry, in which charges and grants are a single sum.
  const isWhole = ledger.every(({ type }) => type !== 'carried');
  if (isWhole && charged !== spent) {
    tenant.violates(SUMS, `the ledger says ${charged}, the account ${spent}`);
  }
  const tasks = charges.map(({ task_id: id }) => id).filter((id) => id !== null);
  if (new Set(tasks).size !== tasks.length) tenant.violates(SUMS, 'a task was charged twice');

  for (const { task_id: id, status, type, result } of records) {
    const outputs = type === 'image' ? (result?.data?.length ?? 0) : 1;
    if (status === 'completed') tenant.charged.set(id, MEDIA_COSTS[type] * outputs);
  }
  const forTasks = [...tenant.charged.values()].reduce((sum, cost) => sum + cost, 0);
  const least = tenant.spent + forTasks;
  if (spent < least || spent > least + tenant.uncertain) {
    const text = `spent ${spent}, expected ${least} to ${least + tenant.uncertain}`;
    tenant.violates(SUMS, `${text} (text ${tenant.spent}, tasks ${forTasks})`);
  }
  return spent;
}
