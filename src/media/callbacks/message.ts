import { Webhook } from 'standardwebhooks';
import type { Delivery } from '../../store/delivery.ts';
import type { Task } from '../../store/task.ts';

/**
 * The body of a callback. Every attempt sends the same bytes, since an ended task never changes.
 *
 * @param data the task's record, as lookup shows it
 */
export function bodyOf(task: Task, delivery: Delivery, data: object): string {
  const timestamp = new Date(delivery.createdAt).toISOString();
  return JSON.stringify({ type: `task.${task.status}`, timestamp, data });
}

/**
 * The headers of one attempt, by Standard Webhooks 1.0.
 *
 * @param secrets the account's, `whsec_…`, newest first; receivers accept a signature by any of them
 * @param now milliseconds since the epoch; receivers reject old timestamps
 */
export function headersOf(
  id: string,
  body: string,
  secrets: readonly string[],
  now: number,
): Readonly<Record<string, string>> {
  return {
    'content-type': 'application/json',
    'user-agent': 'Oriel',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now / 1000)),
    'webhook-signature': secrets
      .map((secret) => new Webhook(secret).sign(id, new Date(now), body))
      .join(' '),
  };
}
