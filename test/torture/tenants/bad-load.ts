import sharp from 'sharp';
import { answerFaults } from '../answer.ts';
import type { AttackContext } from '../attacks/attack.ts';
import { ask, form, NoAnswer, type Outgoing } from '../client.ts';
import type { Outages } from '../outages.ts';
import type { Random } from '../random.ts';
import type { Violations } from '../violations.ts';
import { textBody } from './good-work.ts';

const picture = sharp({
  create: {
    width: 800,
    height: 600,
    channels: 3,
    background: 'black',
    noise: { type: 'gaussian', mean: 128, sigma: 30 },
  },
})
  .jpeg()
  .toBuffer();

/** A random expensive request of a bad tenant. */
async function greedyRequest(random: Random): Promise<Outgoing> {
  switch (random.below(8)) {
    case 0:
    case 1: {
      const parts = [
        { name: 'format', value: 'webp' },
        ...Array.from({ length: 4 }, (_, index) => ({ name: 'files', filename: `${index}.jpg` })),
      ];
      const value = await picture;
      const filled = parts.map((part) => ({ value, ...part }));
      return { method: 'POST', path: '/api/free/batch-convert-images', ...form(filled) };
    }
    case 2: {
      const body = { model: 'image', prompt: `a storm ${random.below(2 ** 31)}`, size: '256x256' };
      return { method: 'POST', path: '/v1/images/generations', body };
    }
    case 3: {
      const parts = [{ name: 'file', value: await picture, filename: 'a.jpg' }];
      return { method: 'POST', path: '/v1/images/upload', ...form(parts) };
    }
    case 4: {
      const body = { model: 'moderation', input: 'a quiet afternoon '.repeat(200) };
      return { method: 'POST', path: '/v1/moderations', body };
    }
    case 5: {
      const body = {
        model: 'sandbox-chat',
        messages: [{ role: 'user', content: 'sandbox:repeat=500' }],
      };
      return { method: 'POST', path: '/v1/chat/completions', body: { ...body, stream: true } };
    }
    default:
      return {
        method: 'POST',
        path: '/v1/messages',
        body: textBody('messages', 'to-chat', 'Hello '.repeat(500), { stream: random.chance(0.5) }),
      };
  }
}

/** Number of requests by outcome. */
export interface Load {
  sent: number;
  served: number;
  rejected: number;
  /** Requests that were due but not sent, because too many were open. */
  skipped: number;
}

/** Requests a second that the daemon serves with 16 concurrent requests. */
export async function measureCapacity(
  context: AttackContext,
  random: Random,
  seconds: number,
): Promise<number> {
  const until = performance.now() + seconds * 1000;
  let served = 0;
  const worker = async () => {
    while (performance.now() < until) {
      const answer = await ask(context.url, {
        ...(await greedyRequest(random)),
        key: random.pick(context.keys),
        timeout: context.hangTimeout,
      });
      if (answer.status < 400) served += 1;
    }
  };
  const started = performance.now();
  await Promise.all(Array.from({ length: 16 }, worker));
  return Math.max(1, served / ((performance.now() - started) / 1000));
}

/** Milliseconds between two computations of the requests that are due. */
const TICK = 20;

/**
 * Sends requests at a fixed rate while `isRunning`, whether or not the daemon keeps up.
 *
 * @param most open requests; beyond them requests are skipped
 */
export async function badLoad(
  context: AttackContext,
  random: Random,
  rate: number,
  most: number,
  {
    isRunning,
    outages,
    violations,
    load,
  }: {
    readonly isRunning: () => boolean;
    readonly outages: Outages;
    readonly violations: Violations;
    readonly load: Load;
  },
): Promise<void> {
  const open = new Set<Promise<void>>();
  const send = async () => {
    const from = performance.now();
    const outgoing = await greedyRequest(random);
    try {
      const key = random.pick(context.keys);
      const answer = await ask(context.url, { ...outgoing, key, timeout: context.hangTimeout });
      if (answer.status < 400) load.served += 1;
      else load.rejected += 1;
      if (outages.scopesBetween(from, performance.now()).size > 0) return;
      for (const fault of answerFaults(outgoing.path, answer)) {
        violations.add('answers are well-formed, and none is a 500', `bad load: ${fault}`);
      }
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      if (outages.scopesBetween(from, performance.now()).has('all')) return;
      violations.add(
        'no connection is cut, and nothing hangs',
        `bad load ${outgoing.path}: ${error.message}`,
      );
    }
  };
  let due = 0;
  let last = performance.now();
  while (isRunning()) {
    await new Promise((resolve) => setTimeout(resolve, TICK));
    const now = performance.now();
    due += ((now - last) / 1000) * rate;
    last = now;
    for (; due >= 1; due -= 1) {
      if (open.size >= most) {
        load.skipped += 1;
        continue;
      }
      load.sent += 1;
      const request: Promise<void> = send().finally(() => open.delete(request));
      open.add(request);
    }
  }
  await Promise.all(open);
}
