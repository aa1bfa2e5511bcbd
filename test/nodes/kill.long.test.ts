import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { freePort } from '../bench/free-port.ts';
import { OWNER_KEY } from '../daemon.ts';
import { CEPH, startCeph } from '../engines/ceph.ts';
import { describeWith } from '../engines/engine.ts';
import { NGINX, startNginx } from '../engines/nginx.ts';
import { POSTGRES, startPostgres } from '../engines/postgres.ts';
import { REDIS, startRedis } from '../engines/redis.ts';
import { auditOrders, configOf } from '../media/kill/audit.ts';
import { Random } from '../media/kill/random.ts';
import { newKey } from '../text/gateway-daemon.ts';
import { Cluster } from './cluster.ts';
import { newBucket } from './new-bucket.ts';
import { RevocationProbe } from './revocation-probe.ts';
import { storedFaults } from './stored-faults.ts';
import { TEXT_MODEL, TextClient } from './text-client.ts';

const FAULTS = Number(process.env['ORIEL_FAULTS'] ?? 60);
const SEED = Number(process.env['ORIEL_SEED'] ?? randomInt(2 ** 31));
/** 300 tasks and 2,000 text requests for 60 faults. */
const ORDERS = FAULTS * 5;
const TEXT_ANSWERS = Math.ceil((FAULTS * 100) / 3);
const TEXT_CLIENTS = 4;
/** Longer than the lease of a node. */
const PAST_LEASE_MS = 17_000;

describeWith([POSTGRES, REDIS, NGINX, ...CEPH], 'three nodes', () => {
  it(`give each request one task, one charge and one callback through ${FAULTS} faults, seed ${SEED}`, {
    timeout: 300_000 + FAULTS * 10_000,
  }, async ({ onTestFinished }) => {
    console.info(`ORIEL_SEED=${SEED} ORIEL_FAULTS=${FAULTS}`);
    const random = new Random(SEED);
    const postgres = await startPostgres();
    onTestFinished(() => postgres.remove());
    const redis = await startRedis();
    onTestFinished(() => redis.close());
    const ceph = await startCeph();
    onTestFinished(() => ceph.stop());
    const assets = await newBucket(ceph, 'oriel');
    const ports = [await freePort(), await freePort(), await freePort()];
    const nginx = await startNginx(ports.map((port) => `http://127.0.0.1:${port}`));
    onTestFinished(() => nginx.close());

    let cluster: Cluster;
    let text: TextClient;
    let probe: RevocationProbe;
    const traffic: Promise<void>[] = [];
    /** Whether all faults have been caused. */
    let isOver = false;
    let pausing: Promise<void> | null = null;
    const counts = { kills: 0, postgres: 0, redis: 0, storage: 0, pauses: 0 };

    const kill = async () => {
      counts.kills += 1;
      const node = random.pick(cluster.nodes);
      await node.end('SIGKILL');
      await delay(random.whole(0, 800));
      await node.start();
    };
    const restartPostgres = async () => {
      counts.postgres += 1;
      postgres.crash();
      await delay(random.whole(0, 500));
    };
    const killRedis = async () => {
      counts.redis += 1;
      await redis.kill();
      await delay(random.whole(0, 1000));
      await redis.restart();
    };
    /** Requests get no answer meanwhile. */
    const stallStorage = async () => {
      counts.storage += 1;
      ceph.gateway.kill('SIGSTOP');
      await delay(random.whole(200, 2000));
      ceph.gateway.kill('SIGCONT');
    };
    /** The others go on, and take over what it has. */
    const pause = async () => {
      counts.pauses += 1;
      const node = random.pick(cluster.nodes);
      node.pause();
      pausing = delay(PAST_LEASE_MS).then(() => {
        node.resume();
        pausing = null;
      });
      await delay(random.whole(0, 500));
    };

    const report = await auditOrders({
      random,
      orders: ORDERS,
      faults: FAULTS,
      proxyStatuses: [502, 504],
      async start(upstream) {
        const config = configOf(upstream);
        cluster = new Cluster({
          ports,
          url: nginx.url,
          config: {
            ...config,
            server: { publicUrl: nginx.url, trustProxy: ['127.0.0.1'] },
            store: { driver: 'postgres', url: postgres.url },
            assets,
            limits: { paid: { rpm: 1_000_000 }, shared: redis.url },
            models: { ...(config as { models: object }).models, talk: TEXT_MODEL },
          },
        });
        await cluster.start();
        const [{ daemon }] = cluster.nodes as [Cluster['nodes'][number]];
        const options = { url: nginx.url, model: 'talk' };
        text = new TextClient({ ...options, key: await newKey(daemon, 'erika') });
        for (let client = 0; client < TEXT_CLIENTS; client += 1) {
          traffic.push(text.run(() => isOver && text.answered >= TEXT_ANSWERS));
        }
        probe = new RevocationProbe(cluster, OWNER_KEY, 'erika');
        return cluster;
      },
      newKey: (account, credits) =>
        newKey(cluster.nodes[0]!.daemon, account, { credits: String(credits / 1e6) }),
      async fault(number, { upstream, receiver }) {
        const moments = [
          () => delay(random.whole(0, 400)),
          () => upstream.orders(random.whole(1, 8)),
          () => receiver.nth(receiver.received.length + random.whole(1, 4)),
        ];
        await Promise.race([random.pick(moments)(), delay(400)]);
        if (number % 20 === 7 && pausing === null) await pause();
        else if (number % 6 === 2) await restartPostgres();
        else if (number % 6 === 4) await killRedis();
        else if (number % 6 === 5) await stallStorage();
        else if (pausing === null) await kill();
        if (number % 20 === 11) await probe.revoke();
      },
      async finish(books) {
        isOver = true;
        await pausing;
        await Promise.all(traffic);
        await books.check('text requests', [text], (client) => client.faults(cluster));
        await books.check('revoked keys', [probe], ({ faults }) => faults);
        await cluster.end();
        await books.check('the store', [postgres.url], storedFaults);
      },
    });
    const { answered, uncertain } = text!;
    console.info(JSON.stringify({ ...counts, answered, uncertain, revocations: probe!.count }));
    console.info(report);
    expect(answered).toBeGreaterThanOrEqual(TEXT_ANSWERS);
  });
});
