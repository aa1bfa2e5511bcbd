import { jsonOf } from '../client.ts';
import { textBody } from '../tenants/good-work.ts';
import type { Attack } from './attack.ts';

/** Upper bound of the cost in credits: 100 tokens of output, and the input tokens. */
const MOST = 100 * 0.01 + 1000 * 0.001;

export const overcharge: Attack = {
  name: 'a bill beyond what was asked',
  summary: 'an upstream that reports five million output tokens for a limit of 100',
  async run(attacker) {
    const key = attacker.context.freeKey;
    const spent = async () => {
      const answer = await attacker.ask({ path: '/v1/account', key });
      const account = (answer && jsonOf(answer)) as { credits?: { spent: number } } | null;
      return account?.credits?.spent;
    };
    const before = await spent();
    const body = { ...textBody('chat', 'to-chat', 'torture:overcharge'), max_tokens: 100 };
    await attacker.ask({ method: 'POST', path: '/v1/chat/completions', key, body });
    const after = await spent();
    if (before === undefined || after === undefined) return;
    attacker.expect(
      after - before <= MOST,
      `${after - before} credits were charged, at most ${MOST} are right`,
    );
  },
};
