import { type Attack, together } from './attack.ts';

const REQUESTS = 1500;

export const failedKeys: Attack = {
  name: 'guessed keys',
  summary: `${REQUESTS} requests with invalid keys`,
  async run(attacker) {
    await together(REQUESTS, 32, async (index) => {
      const key = index % 3 === 0 ? 'x'.repeat(4000) : `sk-oriel-${attacker.random.below(2 ** 31)}`;
      const path = attacker.random.pick(['/v1/models', '/v1/account', '/v1/tasks/task_guess']);
      await attacker.ask({ path, key }, [401, 429]);
    });
  },
};
