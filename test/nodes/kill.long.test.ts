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
import { DurableWork } from '../media/kill/durable-work.ts';
import { Random } from '../media/kill/random.ts';
import { newKey } from '../text/gateway-daemon.ts';
import { Cluster } from './cluster.ts';
import { ClusterFaults } from './cluster-faults.ts';
import { newBucket } from './new-bucket.ts';
import { RevocationProbe } from './revocation-probe.ts';
import { StorageProxy } from './storage-proxy.ts';
import { attemptsOf, lostEscrows, repeatedEnds, storedFaults } from './stored-faults.ts';
import { TEXT_MODEL, TextClient } from './text-client.ts';

/** Each kind of fault comes at least once among the first 11. */
const FAULTS = Number(process.env['ORIEL_FAULTS'] ?? 11);
const SEED = Number(process.env['ORIEL_SEED'] ?? randomInt(2 ** 31));
/** 300 tasks and 2,000 text requests for 60 faults. One order of ten is refused for its account's credits. */
const ORDERS = FAULTS * 6;
const TEXT_ANSWERS = Math.ceil((FAULTS * 100) / 3);
const TEXT_CLIENTS = 2;

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
    const storage = await StorageProxy.open(ceph.endpoint);
    onTestFinished(() => storage.refuse());
    const assets = await newBucket(storage, 'oriel');
    const ports = [await freePort(), await freePort(), await freePort()];
    const nginx = await startNginx(ports.map((port) => `http://127.0.0.1:${port}`));
    onTestFinished(() => nginx.close());

    let cluster: Cluster;
    let text: TextClient;
    let work: DurableWork;
    let probe: RevocationProbe;
    let faults: ClusterFaults;
    const traffic: Promise<void>[] = [];
    /** Whether all faults have been caused. */
    let isOver = false;
    /** Tasks that more than one claim has begun. */
    let takenOver = 0;

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
        const key = await newKey(daemon, 'ada');
        work = new DurableWork({ service: cluster, ...options, key });
        traffic.push(work.run(() => isOver));
        probe = new RevocationProbe(cluster, OWNER_KEY, 'erika');
        const { gateway } = ceph;
        const parts = { random, cluster, postgres, redis, storage, gateway, probe };
        faults = new ClusterFaults({ ...parts, key: await newKey(daemon, 'pia') });
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
        await faults.cause(number, upstream);
      },
      async finish(books, { upstream, tasks }) {
        isOver = true;
        await faults.ended();
        await Promise.all(traffic);
        await Promise.all(cluster.nodes.map(({ url }) => probe.checkAll(url)));
        // The other nodes book charges some time after their answers: 0.2 s, and longer under load.
        await expect
          .poll(() => text.faults(cluster))
          .toEqual([])
          .catch(() => {});
        await books.check('text requests', [text], (client) => client.faults(cluster));
        await books.check('background responses, batches, sockets', [work], (one) => one.faults());
        await books.check('revoked keys', [probe], (one) => one.faults);
        await cluster.end();
        const attempts = attemptsOf(postgres);
        await books.check('answers of the provider to a task', tasks, ({ order, taskId }) => {
          const answers = upstream.answersTo(order.prompt);
          const most = attempts.get(taskId)!;
          return answers <= most ? [] : [`${taskId} has ${answers} in ${most} attempts`];
        });
        await books.check('ends of tasks', [postgres], repeatedEnds);
        await books.check('escrows', [postgres], lostEscrows);
        await books.check('the store', [postgres.url], storedFaults);
        takenOver = [...attempts.values()].filter((count) => count > 1).length;
      },
    });
    const { answered, uncertain } = text!;
    const { counts, lostClaims } = faults!;
    const { count: revocations, checks } = probe!;
    console.info(
      JSON.stringify({
        ...{ ...counts, ...work!.counts },
        answered,
        uncertain,
        revocations,
        checks,
        lostClaims,
        takenOver,
      }),
    );
    console.info(report);
    expect(answered).toBeGreaterThanOrEqual(TEXT_ANSWERS);
    // Each kind of fault has happened, and each node that came back after its lease has lost tasks.
    expect(Math.min(...Object.values(counts))).toBeGreaterThan(0);
    expect(lostClaims).toBeGreaterThanOrEqual(counts.pause);
    expect(takenOver).toBeGreaterThanOrEqual(lostClaims);
  });
});
