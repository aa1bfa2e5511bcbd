import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { it } from 'vitest';
import { TEXT_MODEL } from '../nodes/text-client.ts';
import { temporaryFolder } from '../oriel.ts';
import { newKey } from '../text/gateway-daemon.ts';
import { auditOrders, configOf } from './kill/audit.ts';
import { storeFaults } from './kill/books.ts';
import { DurableWork } from './kill/durable-work.ts';
import { Random } from './kill/random.ts';
import { Victim } from './kill/victim.ts';

const KILLS = Number(process.env['ORIEL_KILLS'] ?? 6);
const SEED = Number(process.env['ORIEL_SEED'] ?? randomInt(2 ** 31));
/** 300 tasks for 40 kills. */
const ORDERS = Math.ceil(KILLS * 7.5);
/** Milliseconds that a daemon lives at most once it is ready. */
const LIFE = 500;

it(`gives each request one task, one charge and one callback through ${KILLS} kills, seed ${SEED}`, {
  timeout: 300_000 + KILLS * 10_000,
}, async () => {
  console.info(`ORIEL_SEED=${SEED} ORIEL_KILLS=${KILLS}: ${ORDERS} orders`);
  const random = new Random(SEED);
  const data = temporaryFolder();
  let victim: Victim;
  let work: DurableWork;
  let working = Promise.resolve();
  let isOver = false;
  const report = await auditOrders({
    random,
    orders: ORDERS,
    faults: KILLS,
    async start(upstream) {
      const config = configOf(upstream) as { models: object };
      const models = { ...config.models, talk: TEXT_MODEL };
      victim = new Victim(data, { ...config, models });
      const { url } = await victim.start();
      const key = await newKey(victim.daemon, 'ada');
      work = new DurableWork({ service: victim, url, key, model: 'talk' });
      working = work.run(() => isOver);
      return victim;
    },
    newKey: (account, credits) =>
      newKey(victim.daemon, account, { credits: String(credits / 1e6) }),
    async fault(_, { upstream, receiver }) {
      const moments = [
        () => delay(random.whole(0, LIFE)),
        () => upstream.orders(random.whole(1, 8)),
        () => receiver.nth(receiver.received.length + random.whole(1, 4)),
      ];
      await Promise.race([random.pick(moments)(), delay(LIFE)]);
      await delay(random.pick([0, 0, random.whole(0, 20)]));
      await victim.kill();
      if (random.chance(0.25)) await victim.stillbirth(random.whole(50, 700));
      await victim.start();
    },
    async finish(books, { files: known }) {
      isOver = true;
      await working;
      await books.check('background responses, batches, sockets', [work], (one) => one.faults());
      // What a crash has left lying about is swept up by the next start.
      await victim.stop();
      await victim.start();
      await victim.stop();
      const { sums, orphans, files } = await storeFaults(data);
      await books.check('the store', [sums], (faults) => faults);
      await books.check('orphaned files', [orphans], (faults) => faults);
      // Inputs went with the end of their tasks. An upload may have been kept although its answer was lost.
      await books.check('files', [files], (count) =>
        count >= known + work.files && count <= known + work.files + KILLS * 4
          ? []
          : [`${count}, expected ${known + work.files}`],
      );
    },
  });
  console.info(JSON.stringify(work!.counts));
  if (process.env['ORIEL_KILLS'] !== undefined) console.info(report);
});
