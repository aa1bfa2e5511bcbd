import { type Attack, together } from './attack.ts';

const GUESSES = 1500;

export const failedKeys: Attack = {
  name: 'guessed keys',
  summary: `${GUESSES} requests with invalid keys`,
  async run(attacker) {
    await together(GUESSES, 32, async (index) => {
      const key = index % 3 === 0 ? 'x'.repeat(4000) : `sk-oriel-${attacker.random.below(2 ** 31)}`;
      const path = attacker.random.pick(['/v1/models', '/v1/account', '/v1/tasks/task_guess']);
      await attacker.ask({ path, key }, [401, 429]);
    });
  },
};

const TASKS = 400;

export const failingTasks: Attack = {
  name: 'tasks that fail',
  summary: `${TASKS} tasks with prompts of 30,000 characters that fail and therefore cost nothing`,
  async run(attacker) {
    const prompt = `sandbox:fail=service_error ${'a '.repeat(15_000)}`.slice(0, 30_000);
    await together(TASKS, 16, async () => {
      const body = { model: 'image', prompt, size: '64x64' };
      await attacker.post('/v1/images/generations', body, [202, 402]);
    });
  },
};

export const metricsWithATenantsKey: Attack = {
  name: "metrics with a tenant's key",
  summary: 'a request for /metrics with the key of a tenant',
  async run(attacker) {
    await attacker.ask({ path: '/metrics', key: attacker.key }, [401, 403, 404, 429]);
  },
};
