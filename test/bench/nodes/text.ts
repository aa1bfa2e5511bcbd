import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import type { Bench, Trial } from '../cases.ts';
import type { Server } from '../daemon/server.ts';
import { fixed, goalOf, KEYS, spread } from '../daemon/trial.ts';
import { compared, contest, faultsOf, over, standingNamed, typical } from '../gateway/contest.ts';
import { type Contender, Field } from '../gateway/field.ts';
import { chat } from '../gateway/formats/chat.ts';
import { type Post, putLoad } from '../gateway/load.ts';
import { startFixedUpstream } from '../gateway/nginx.ts';
import { emptyFolder, engineOf } from './field.ts';
import type { Postgres } from './postgres.ts';

const CONNECTIONS = [1, 64];

export const TEXT = {
  title: 'text: chat requests with PostgreSQL and with lowdb',
  goal: 'requests per second at 64 connections ≥ 0.95 × lowdb',
};

type Figure = 'requestsPerSecond' | 'cpuPerThousand' | 'statementsPerSecond';

/** Runs work with the upstream of text requests, an nginx. */
async function withUpstream(bench: Bench, work: (field: Field) => Promise<Trial>): Promise<Trial> {
  const upstream = await startFixedUpstream(join(bench.folder, 'upstream'));
  try {
    return await work(new Field(bench, upstream));
  } finally {
    await upstream.stop();
  }
}

export function postOf({ url }: Pick<Server, 'url'>): Post {
  return {
    url: url + chat.path,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${KEYS[0]}` },
    body: JSON.stringify(chat.request('json', false)),
  };
}

async function check(server: Server): Promise<void> {
  const { url, ...post } = postOf(server);
  const answer = await fetch(url, { method: 'POST', ...post });
  const body = await answer.text();
  if (answer.status !== 200) throw new Error(`answered ${answer.status}: ${body.slice(0, 300)}`);
}

/** Statements a second while one request after the other is sent, few in a second. */
async function statementsAtRest(server: Postgres, daemon: Server, seconds: number) {
  const { headers, body } = postOf(daemon);
  const pool = new Pool(daemon.url, { connections: 1 });
  const before = await server.statements();
  const until = performance.now() + seconds * 1000;
  let requests = 0;
  while (performance.now() < until) {
    const answer = await pool.request({ method: 'POST', path: chat.path, headers, body });
    await answer.body.dump();
    requests += 1;
    await sleep(20);
  }
  await pool.destroy();
  const statements = (await server.statements()) - before;
  return { requestsPerSecond: requests / seconds, statementsPerSecond: statements / seconds };
}

/** Text requests of one daemon with either store, and the statements meanwhile. */
export function text(bench: Bench, server: Postgres): Promise<Trial> {
  return withUpstream(bench, async (field) => {
    const { settings, log } = bench;
    const seconds = settings.quick ? 2 : 5;
    const slow: { requestsPerSecond: number; statementsPerSecond: number }[] = [];
    const standings = await contest<Figure>(bench, {
      contenders: [
        { ...field.oriel('lowdb'), role: 'limit' },
        field.oriel('postgres', engineOf(server, 'text')),
      ],
      loads: CONNECTIONS,
      rounds: settings.rounds,
      progress: 'requestsPerSecond',
      check,
      measure: async (daemon, { name }, connections, round) => {
        const before = { cpu: daemon.cpu(), statements: await server.statements() };
        const load = await putLoad(bench, postOf(daemon), connections, seconds);
        const statements = (await server.statements()) - before.statements;
        const cpuPerThousand = ((daemon.cpu() - before.cpu) * 1e6) / load.requests;
        if (name === 'postgres' && connections === 1 && round > 0) {
          slow.push(await statementsAtRest(server, daemon, seconds));
          log(`  slowly: ${fixed(slow.at(-1)!.statementsPerSecond, 0)} statements a second`);
        }
        return {
          requestsPerSecond: load.requestsPerSecond,
          cpuPerThousand,
          statementsPerSecond: name === 'postgres' ? statements / seconds : 0,
        };
      },
    });
    const own = standingNamed(standings, 'postgres')!;
    const lowdb = standingNamed(standings, 'lowdb')!;
    const ratios = (connections: number) =>
      compared(own, lowdb, connections, 'requestsPerSecond', over);
    const rows = standings.flatMap((standing) =>
      CONNECTIONS.map((connections) => {
        const rate = typical(standing, connections, 'requestsPerSecond');
        const statements = typical(standing, connections, 'statementsPerSecond');
        return [
          standing.contender.name,
          `${connections} at once`,
          fixed(rate, 0),
          standing === own ? spread(ratios(connections)) : '',
          fixed(typical(standing, connections, 'cpuPerThousand'), 1),
          standing === own ? fixed(statements, 0) : '',
          standing === own ? fixed((statements! * 1000) / rate!, 1) : '',
        ];
      }),
    );
    const perThousand = (own.rounds.get(64) ?? []).flatMap((figures) =>
      figures === undefined
        ? []
        : [(figures.statementsPerSecond! * 1000) / figures.requestsPerSecond!],
    );
    const growth = (own.rounds.get(64) ?? []).flatMap((figures, round) =>
      figures === undefined || slow[round] === undefined
        ? []
        : [figures.statementsPerSecond! / slow[round].statementsPerSecond],
    );
    return {
      section: {
        title: TEXT.title,
        text:
          'One daemon with either store, the same upstream. A statement on the path of a request would make a thousand ' +
          'for a thousand requests; those that remain fold charges and keep the node alive, and depend on time alone.',
        table: {
          headings: [
            'store',
            'load',
            'requests/s',
            '÷ lowdb',
            'CPU ms per 1000',
            'statements/s',
            'statements per 1000',
          ],
          rows: [
            ...rows,
            [
              'postgres',
              'one each 20 ms',
              spread(
                slow.map((one) => one.requestsPerSecond),
                0,
              ),
              '',
              '',
              spread(
                slow.map((one) => one.statementsPerSecond),
                0,
              ),
              '',
            ],
          ],
        },
      },
      goals: [
        goalOf('text', TEXT.goal, ratios(64), 0.95, 'higher'),
        goalOf('text', 'statements per 1000 requests at 64 ≤ 250', perThousand, 250, 'lower', 0),
        goalOf('text', 'statements/s at 64 ≤ 1.50 × one request each 20 ms', growth, 1.5, 'lower'),
      ],
      faults: faultsOf('text', standings),
      raw: { slow, standings: standings.map(({ rounds }) => [...rounds]) },
    };
  });
}

export const SCALE = {
  title: 'scale: text requests over several daemons',
  goal: 'CPU of a request ≤ 1.10 × one daemon',
};

/** CPU of text requests on this machine by one, two and three daemons over one database. */
export function scale(bench: Bench, server: Postgres): Promise<Trial> {
  return withUpstream(bench, async (field) => {
    const { settings, log } = bench;
    const seconds = settings.quick ? 2 : 5;
    const sizes = [1, 2, 3].map((nodes) => ({
      nodes,
      rates: [] as number[],
      cpu: [] as number[],
      withServer: [] as number[],
    }));
    const engine = engineOf(server, 'scale');
    const contenders = [1, 2, 3].map((number): Contender => {
      return field.oriel(`node-${number}`, engine);
    });
    for (let round = 0; round < Math.ceil(settings.rounds * 0.4); round += 1) {
      for (const { nodes, rates, cpu, withServer } of sizes) {
        await server.sql('DROP SCHEMA IF EXISTS scale CASCADE');
        for (const { name } of contenders) emptyFolder(bench, name);
        const daemons: Server[] = [];
        try {
          for (const [index, contender] of contenders.slice(0, nodes).entries()) {
            // The first one makes the accounts.
            daemons.push(
              await (index === 0 ? contender.start() : field.join(contender.name, engine)),
            );
          }
          for (const daemon of daemons) await check(daemon);
          const putAll = () =>
            Promise.all(
              daemons.map((daemon, index) => {
                const folder = join(bench.folder, `load-${index}`);
                return putLoad({ ...bench, folder }, postOf(daemon), 48 / nodes, seconds);
              }),
            );
          // A new process takes several times the CPU until V8 has compiled its code.
          for (let run = 0; run < nodes; run += 1) await putAll();
          const own = () => daemons.reduce((sum, daemon) => sum + daemon.cpu(), 0);
          const before = { own: own(), server: server.cpu() };
          const loads = await putAll();
          const requests = loads.reduce((sum, load) => sum + load.requests, 0);
          const spent = own() - before.own;
          rates.push(requests / seconds);
          cpu.push((spent * 1e6) / requests);
          withServer.push(((spent + server.cpu() - before.server) * 1e6) / requests);
          log(`  ${nodes}: CPU ${fixed(cpu.at(-1), 0)} ms per 1000`);
        } finally {
          for (const daemon of daemons) await daemon.stop();
        }
      }
    }
    const [one] = sizes;
    const ratiosOf = (name: 'cpu' | 'withServer', nodes: number) =>
      sizes[nodes - 1]![name].map((figure, round) => figure / one![name][round]!);
    return {
      section: {
        title: SCALE.title,
        text: `48 connections in all for ${seconds} s, divided among new daemons over one schema on the same cores.`,
        table: {
          headings: [
            'daemons',
            'requests/s',
            'CPU ms per 1000',
            '÷ one',
            'with the CPU of PostgreSQL',
            '÷ one',
          ],
          rows: sizes.map(({ nodes, rates, cpu, withServer }) => [
            String(nodes),
            spread(rates, 0),
            spread(cpu, 0),
            spread(ratiosOf('cpu', nodes)),
            spread(withServer, 0),
            spread(ratiosOf('withServer', nodes)),
          ]),
        },
      },
      goals: [2, 3].map((nodes) =>
        goalOf('scale', `${nodes} daemons: ${SCALE.goal}`, ratiosOf('cpu', nodes), 1.1, 'lower'),
      ),
      faults: [],
      raw: sizes,
    };
  });
}
