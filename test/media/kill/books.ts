import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { openStore } from '../../../src/store/drivers/open.ts';
import { findInconsistencies } from '../../store/consistency.ts';
import { type Received, WebhookReceiver } from '../webhook-receiver.ts';
import { ACCOUNTS, type ClientRequest, deliveredOf, mostOf, PRICES } from './client-requests.ts';
import type { AuditedService } from './service.ts';
import { jsonOf } from './victim.ts';

/** The task record that clients get. */
export interface TaskRecord {
  readonly task_id: string;
  readonly status: string;
  readonly model: string;
  readonly result: { readonly data: readonly { readonly url: string }[] } | null;
  readonly error: { readonly type: string; readonly message: string; readonly code: string } | null;
}

/** What came of an order when it was sent. */
export interface Acknowledged {
  readonly order: ClientRequest;
  /** Null where it was refused for want of credits. */
  readonly taskId: string | null;
}

/** One checked subject and its violations. */
export class Books {
  readonly rows: { readonly what: string; readonly looked: number; readonly faults: number }[] = [];
  readonly faults: string[] = [];

  /** Looks at all of something. @param look gives what is wrong with one, a sentence each */
  async check<Subject>(
    what: string,
    subjects: Iterable<Subject>,
    look: (subject: Subject) => readonly string[] | Promise<readonly string[]>,
  ): Promise<void> {
    const before = this.faults.length;
    let looked = 0;
    for (const subject of subjects) {
      looked += 1;
      this.faults.push(...(await look(subject)).map((fault) => `${what}: ${fault}`));
    }
    this.rows.push({ what, looked, faults: this.faults.length - before });
  }
}

export const isEnded = ({ status }: TaskRecord) =>
  ['completed', 'failed', 'expired'].includes(status);

const imagesOf = ({ result }: TaskRecord) => result?.data.length ?? 0;

/** Tasks that crashed too often fail as abandoned. */
const isAbandoned = ({ error }: TaskRecord) => error?.code === 'task_abandoned';

export function outcomeFaults(order: ClientRequest, record: TaskRecord): string[] {
  if (isAbandoned(record)) return [];
  const wanted = deliveredOf(order);
  const status = wanted > 0 ? 'completed' : 'failed';
  const label = `${record.task_id} (${order.prompt}, n ${order.n})`;
  if (record.status !== status) return [`${label} is ${JSON.stringify(record)}`];
  const has = imagesOf(record);
  return has === wanted ? [] : [`${label} has ${has} images, expected ${wanted}`];
}

/** Of orders that were refused, and of those that should have been. */
export function refusalFaults({ order, taskId }: Acknowledged): string[] {
  const has = ACCOUNTS[order.account]!;
  if (mostOf(order) > has && taskId !== null)
    return [`${order.prompt} is beyond what ${order.account} has`];
  // Accounts with enough credits are never refused.
  return taskId === null && has > 1e8 ? [`${order.account} was refused`] : [];
}

/** An account's sums over HTTP, against what its tasks delivered. */
export async function creditFaults(
  service: AuditedService,
  name: string,
  key: string,
  tasks: readonly { readonly order: ClientRequest; readonly record: TaskRecord }[],
): Promise<string[]> {
  const { credits } = jsonOf<{ credits: Record<string, number> }>(
    await service.ask('/v1/account', key),
  );
  const micro = (sum: string) => Math.round(credits[sum]! * 1e6);
  const delivered = tasks.reduce(
    (sum, { order, record }) => sum + imagesOf(record) * PRICES[order.model],
    0,
  );
  const faults: string[] = [];
  const same = (what: string, is: number, expected: number) => {
    if (is !== expected) faults.push(`${name}: ${what} is ${is}, expected ${expected}`);
  };
  same('granted', micro('granted'), ACCOUNTS[name]!);
  same('reserved', micro('reserved'), 0);
  same('spent', micro('spent'), delivered);
  same('available + spent', micro('available') + micro('spent'), micro('granted'));
  return faults;
}

/** Every image of a task is there for everybody, in the size that was asked for. */
export async function imageFaults(url: string, size: string): Promise<string[]> {
  const response = await fetch(url);
  const bytes = Buffer.from(await response.arrayBuffer());
  if (response.status !== 200) return [`${url} answers ${response.status}`];
  const { format, width, height } = await sharp(bytes).metadata();
  const is = `${format} ${width}x${height}`;
  const type = response.headers.get('content-type');
  return is === `png ${size}` && type === 'image/png' ? [] : [`${url} is ${type}, ${is}`];
}

/** What receivers tell repeated callbacks by. */
export const webhookId = ({ headers }: Received): string => String(headers['webhook-id']);

/** A task.s callbacks are signed, have one id, and have the record of the lookup. */
export function callbackFaults(
  received: readonly Received[],
  secret: string,
  record: TaskRecord,
): string[] {
  const ids = new Set(received.map(webhookId));
  const label = record.task_id;
  if (ids.size !== 1) return [`${label}: ${received.length} callbacks with ${ids.size} ids`];
  return received.flatMap((callback) => {
    try {
      const body = WebhookReceiver.verified(secret, callback) as { type: string; data: unknown };
      const is = JSON.stringify([body.type, body.data]);
      const expected = JSON.stringify([`task.${record.status}`, record]);
      return is === expected ? [] : [`${label}: ${is}, expected ${expected}`];
    } catch (error) {
      return [`${label}: ${String(error)}`];
    }
  });
}

/** What the store of a daemon that has ended says of itself, and of the files beside it. */
export async function storeFaults(
  data: string,
): Promise<{ readonly sums: string[]; readonly orphans: string[]; readonly files: number }> {
  const store = await openStore({ directory: join(data, 'store') });
  try {
    const files = readdirSync(join(data, 'assets'), { recursive: true, withFileTypes: true });
    const names = files.filter(
      (entry) => entry.isFile() && !entry.parentPath.includes('/quarantine/'),
    );
    const orphans: string[] = [];
    for (const { parentPath, name } of names) {
      const asset = await store.findAsset(name);
      const { size } = statSync(join(parentPath, name));
      if (asset?.bytes !== size) orphans.push(`${name} of ${size} bytes is ${asset?.bytes}`);
    }
    return { sums: await findInconsistencies(store), orphans, files: names.length };
  } finally {
    await store.close();
  }
}
