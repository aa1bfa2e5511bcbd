import { textBody } from '../tenants/good-work.ts';
import { type Attack, OVERLOAD_STATUSES, together } from './attack.ts';

const REQUESTS = 24;

export const hangingBodies: Attack = {
  name: 'large bodies at a hanging upstream',
  summary: `${REQUESTS} bodies of 8 MB for an upstream that never answers`,
  async run(attacker) {
    const filler = 'all work and no play '.repeat(390_000);
    const body = textBody('chat', 'to-chat', `torture:hang ${filler}`);
    const [key = ''] = attacker.context.keys;
    let refused = 0;
    await together(REQUESTS, REQUESTS, async () => {
      const path = '/v1/chat/completions';
      const answer = await attacker.ask({ method: 'POST', path, key, body }, [
        402,
        502,
        504,
        ...OVERLOAD_STATUSES,
      ]);
      if (answer?.status === 429 || answer?.status === 503) refused += 1;
    });
    attacker.expect(refused > 0, `one account had ${REQUESTS} bodies of 8 MB in memory`);
  },
};
