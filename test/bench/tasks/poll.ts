import type { Bench, Trial } from '../cases.ts';
import { raceLookups } from '../daemon/lookup.ts';
import { configOf, queueTasks, startOriel, withProvider } from './field.ts';

/** Polling of a queued task, as its client does repeatedly. */
export async function poll(bench: Bench): Promise<Trial> {
  const tasks = bench.settings.quick ? 1000 : 10_000;
  return withProvider(bench, async (provider) => {
    const { daemon } = await startOriel(bench, 'oriel', configOf(provider, 1));
    try {
      return await raceLookups(bench, daemon, await queueTasks(daemon, tasks), {
        id: 'poll',
        title: 'poll: GET /v1/tasks/{id}',
        text: `The last of ${tasks} queued tasks`,
      });
    } finally {
      await daemon.kill();
    }
  });
}
