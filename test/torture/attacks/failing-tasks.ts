import { type Attack, OVERLOAD_STATUSES, together } from './attack.ts';

const TASKS = 400;

export const failingTasks: Attack = {
  name: 'tasks that fail',
  summary: `${TASKS} tasks with prompts of 30,000 characters that fail and therefore cost nothing`,
  async run(attacker) {
    const prompt = `sandbox:fail=service_error ${'a '.repeat(15_000)}`.slice(0, 30_000);
    await together(TASKS, 16, async () => {
      const body = { model: 'image', prompt, size: '64x64' };
      const path = '/v1/images/generations';
      await attacker.ask({ method: 'POST', path, key: attacker.key, body }, [
        202,
        402,
        ...OVERLOAD_STATUSES,
      ]);
    });
  },
};
