import { EventEmitter } from 'node:events';
import { join } from 'node:path';
import * as v from 'valibot';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { configSchema } from '../../src/config/settings/schema.ts';
import type { TaskExecution } from '../../src/media/queue/media-task-executor.ts';
import { ClaimLost } from '../../src/media/queue/open-task.ts';
import { TaskRunner } from '../../src/media/queue/task-runner.ts';
import type { TaskObserver } from '../../src/media/task/media-services.ts';
import { SharedTaskEvents } from '../../src/media/task-events.ts';
import { Routing } from '../../src/routing/routing.ts';
import { openStore } from '../../src/store/drivers/open.ts';
import { SINGLE_NODE } from '../../src/store/nodes.ts';
import type { Store } from '../../src/store/store.ts';
import type { StoreEvent } from '../../src/store/store-event.ts';
import type { Completion, Task } from '../../src/store/task.ts';
import { temporaryFolder } from '../oriel.ts';
import { completionOf, owner, taskFor } from '../store/records.ts';
import { IMAGE } from './task-requests.ts';

// Two runners as on two nodes, over one store.

const NEVER = new AbortController().signal;

/** A store with the events of several nodes. Each node hears the others. */
class SharedStore {
  readonly store: Store;
  readonly #events = new EventEmitter().setMaxListeners(0);
  /** Whether hints reach the nodes. */
  reports = true;
  /** Number of living nodes. */
  alive = 2;

  constructor(store: Store) {
    this.store = store;
  }

  node(): Store {
    const listeners = new Set<(event: StoreEvent) => void>();
    this.#events.on('event', (from: Store, event: StoreEvent) => {
      if (from === view || !this.reports) return;
      for (const listener of listeners) listener(event);
    });
    const send = (event: StoreEvent) => this.#events.emit('event', view, event);
    const reporting = <Arguments extends unknown[]>(
      change: (...args: Arguments) => Promise<Task>,
    ) => {
      return async (...args: Arguments) => {
        const task = await change(...args);
        const { id, accountId, status } = task;
        send({ kind: 'task', id, accountId, status });
        return task;
      };
    };
    const { store } = this;
    const own: Partial<Store> = {
      isShared: true,
      nodes: { ...SINGLE_NODE, alive: () => this.alive },
      watch(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      publish: send,
      completeTask: reporting(store.completeTask.bind(store)),
      failTask: reporting(store.failTask.bind(store)),
      expireTask: reporting(store.expireTask.bind(store)),
    };
    const view = new Proxy(store, {
      get(target, name) {
        if (name in own) return own[name as keyof Store];
        const value = target[name as keyof Store];
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    return view;
  }

  /** Has the lease of a node end. */
  loseLease(view: Store): void {
    this.#events.emit('event', null, { kind: 'lease_lost' });
    expect(view.isShared).toBe(true);
  }
}

interface Execution extends TaskExecution {
  complete(completion: Completion): void;
}

/** A node whose executions the test ends. */
function runnerOn(store: Store, { model = 'some-image-model' } = {}) {
  const config = v.parse(configSchema, {
    dataDir: temporaryFolder(),
    providers: { own: { kind: 'sandbox', concurrency: 1 } },
    models: {
      [model]: {
        type: 'image',
        routes: [{ provider: 'own', model: 'image' }],
        price: { perImage: 1 },
      },
    },
  });
  const executions: Execution[] = [];
  const observer = {
    ended: vi.fn<TaskObserver['ended']>(),
    fault: vi.fn<TaskObserver['fault']>(),
    stalled: vi.fn<TaskObserver['stalled']>(),
    claimLost: vi.fn<TaskObserver['claimLost']>(),
    callInterrupted: vi.fn<TaskObserver['callInterrupted']>(),
    onAttempt: () => {},
  };
  const routing = new Routing(() => config, observer);
  const runner = new TaskRunner(
    { config: () => config, store, routing, observer },
    {
      execute: (execution) =>
        new Promise((resolve, reject) => {
          execution.signal.addEventListener('abort', () => reject(execution.signal.reason));
          executions.push({ ...execution, complete: resolve });
        }),
    },
  );
  onTestFinished(async () => {
    runner.interrupt();
    await runner.close();
  });
  return { runner, executions, observer };
}

async function setUp() {
  const store = await openStore({ directory: join(temporaryFolder(), 'store') });
  onTestFinished(() => store.close());
  const shared = new SharedStore(store);
  const [one, other] = [shared.node(), shared.node()];
  const { account, key } = await owner(store);
  const create = async (change = {}) =>
    (await store.createTask(taskFor(key, { reservation: 0, request: IMAGE, ...change }))).task;
  return { shared, store, one, other, account, create };
}

describe('a task that another node processes', () => {
  it.each([
    ['an event', true],
    ['a poll where the event is lost', false],
  ])('is seen to end by %s', async (_, reports) => {
    const { shared, one, other, create } = await setUp();
    shared.reports = reports;
    const [first, second] = [runnerOn(one), runnerOn(other)];
    const task = await create();
    first.runner.add(task);
    const waiting = second.runner.waitFor(task, 60_000, NEVER);
    await expect.poll(() => first.executions.length).toBe(1);
    first.executions[0]!.complete(completionOf());
    expect(await waiting).toMatchObject({ status: 'completed' });
    expect(second.executions).toEqual([]);
  });

  it('is claimed where its creator has no free slot', async () => {
    const { one, other, create } = await setUp();
    const [first, second] = [runnerOn(one), runnerOn(other)];
    await Promise.all([first.runner.start(), second.runner.start()]);
    const tasks = [await create(), await create()];
    for (const task of tasks) first.runner.add(task);
    await expect.poll(() => first.executions.length + second.executions.length).toBe(2);
    expect(first.executions.map(({ task }) => task.id)).toEqual([tasks[0]!.id]);
    expect(second.executions.map(({ task }) => task.id)).toEqual([tasks[1]!.id]);
    // The creator waits for its end, although it had it in its own queue.
    const waiting = first.runner.waitFor(tasks[1]!, 60_000, NEVER);
    second.executions[0]!.complete(completionOf());
    expect(await waiting).toMatchObject({ status: 'completed' });
  });

  it('is left to the node whose configuration has its model', async () => {
    const { shared, store, one, other, create } = await setUp();
    const without = runnerOn(one, { model: 'another-model' });
    const task = await create();
    const busy = vi.spyOn(store, 'requeueTask');
    await without.runner.start();
    await expect.poll(() => busy.mock.calls.length).toBe(1);
    const { runner, executions } = runnerOn(other);
    await runner.start();
    await expect.poll(() => executions.length).toBe(1);
    executions[0]!.complete(completionOf());
    expect(await runner.waitFor(task, 60_000, NEVER)).toMatchObject({ status: 'completed' });
    // Claimed once by the node without the model, and never again.
    await runner.close();
    const next = await create();
    shared.alive = 1;
    expect(await without.runner.waitFor(next, 100, NEVER)).toMatchObject({ status: 'pending' });
    expect(busy).toHaveBeenCalledTimes(1);
  });

  it('ends once where both of two nodes complete it', async () => {
    const { store, one, create } = await setUp();
    const { runner, executions, observer } = runnerOn(one);
    const task = await create();
    runner.add(task);
    await expect.poll(() => executions.length).toBe(1);
    // Taken over by another node, which has ended it.
    const claim = (await store.findTask(task.accountId, task.id))!;
    await store.requeueTask(claim);
    const other = (await store.claimTask(task.id))!;
    executions[0]!.complete(completionOf({ result: 'late' }));
    await expect.poll(() => observer.claimLost.mock.calls.length).toBe(1);
    await store.completeTask(other, completionOf({ result: 'right' }));
    expect(observer.ended).not.toHaveBeenCalled();
    expect(observer.fault).not.toHaveBeenCalled();
    expect(await store.findTask(task.accountId, task.id)).toMatchObject({ result: 'right' });
  });
});

describe('a lost lease', () => {
  it('aborts the tasks under way without an end', async () => {
    const { shared, store, one, create } = await setUp();
    const { runner, executions, observer } = runnerOn(one);
    await runner.start();
    const task = await create();
    runner.add(task);
    await expect.poll(() => executions.length).toBe(1);
    shared.loseLease(one);
    expect(executions[0]!.signal.reason).toBeInstanceOf(ClaimLost);
    await expect.poll(() => observer.claimLost.mock.calls.length).toBe(1);
    expect(observer.ended).not.toHaveBeenCalled();
    expect(await store.findTask(task.accountId, task.id)).toMatchObject({ status: 'processing' });
  });
});

describe('draining', () => {
  it('hands waiting tasks over at once', async () => {
    const { one, other, create } = await setUp();
    const [first, second] = [runnerOn(one), runnerOn(other)];
    await second.runner.start();
    const busy = await create();
    second.runner.add(busy);
    await expect.poll(() => second.executions.length).toBe(1);
    const tasks = [await create(), await create()];
    for (const task of tasks) first.runner.add(task);
    await expect.poll(() => first.executions.length).toBe(1);
    second.executions[0]!.complete(completionOf());
    first.runner.drain();
    await expect.poll(() => second.executions.length).toBe(2);
    expect(second.executions[1]!.task.id).toBe(tasks[1]!.id);
  });

  it('keeps a client that waits until another node has ended its task', async () => {
    const { one, other, create } = await setUp();
    const [first, second] = [runnerOn(one), runnerOn(other)];
    await second.runner.start();
    first.runner.drain();
    const task = await create();
    first.runner.add(task);
    const waiting = first.runner.waitFor(task, 60_000, NEVER);
    await expect.poll(() => second.executions.length).toBe(1);
    second.executions[0]!.complete(completionOf());
    expect(await waiting).toMatchObject({ status: 'completed' });
    const late = first.runner.waitFor(await create(), 60_000, NEVER);
    first.runner.interrupt();
    expect(await late).toMatchObject({ status: expect.stringMatching(/pending|processing/) });
  });
});

describe('streams of task events', () => {
  it.each([
    ['events', true],
    ['polls where events are lost', false],
  ])('follow other nodes by %s', async (_, reports) => {
    const { shared, store, one, other, account, create } = await setUp();
    shared.reports = reports;
    const events = new SharedTaskEvents(other);
    onTestFinished(() => events.close());
    const seen: string[] = [];
    onTestFinished(events.subscribe(account.id, ({ id, status }) => seen.push(`${id} ${status}`)));
    const { id } = await create();
    const claim = (await store.claimTask(id))!;
    if (!reports) await expect.poll(() => seen.at(-1)).toBe(`${id} processing`);
    await one.completeTask(claim, completionOf());
    await expect.poll(() => seen.at(-1)).toBe(`${id} completed`);
    // Nothing is reported twice.
    expect(new Set(seen).size).toBe(seen.length);
  });
});
