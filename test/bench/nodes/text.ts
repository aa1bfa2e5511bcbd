import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { Server } from '../daemon/server.ts';
import { KEYS } from '../daemon/trial.ts';
import { atLoads, contest, named, outcomeOf } from '../gateway/contest.ts';
import { Field } from '../gateway/field.ts';
import { chat } from '../gateway/formats.ts';
import { check, postOf } from '../gateway/json.ts';
import { putLoad } from '../gateway/load.ts';
import { nginx, startFixedUpstream } from '../gateway/nginx.ts';
import { fixed, Series, spread } from '../series.ts';
import { type Bench, goalOf, tableOf } from '../trial.ts';
import { type Case, emptyFolder, engineOf } from './field.ts';
import type { Postgres } from './postgres.ts';

const CONNECTIONS = [1, 64];
const TEXT_GOAL = 'requests per second at 64 connections ≥ 0.95 × lowdb';

/** A client of chat with the first key. */
export const CLIENT = { format: chat, headers: { authorization: `Bearer ${KEYS[0]}` } };

/** Runs work with the upstream of text requests, an nginx. */
function withUpstream<Value>(bench: Bench, work: (field: Field) => Promise<Value>): Promise<Value> {
  const start = () => startFixedUpstream(join(bench.folder, 'upstream'));
  return Server.during(start, (upstream) => work(new Field(bench, upstream)));
}

const secondsOf = ({ settings }: Bench): number => (settings.quick ? 2 : 5);

/** Statements a second while one request after the other is sent, few in a second. */
async function statementsAtRest(server: Postgres, daemon: Server, seconds: number) {
  const { headers, body } = postOf(daemon, CLIENT);
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
export const text: Case = {
  title: 'text: chat requests with PostgreSQL and with lowdb',
  goal: TEXT_GOAL,
  program: nginx,
  work: (bench, server) =>
    withUpstream(bench, async (field) => {
      const seconds = secondsOf(bench);
      const slow = new Series<'requestsPerSecond' | 'statementsPerSecond'>('postgres');
      const standings = await contest<
        'requestsPerSecond' | 'cpuPerThousand' | 'statementsPerSecond' | 'statementsPerThousand'
      >(bench, {
        contenders: [
          { ...field.oriel('lowdb'), role: 'limit' },
          field.oriel('postgres', engineOf(server, 'text')),
        ],
        loads: CONNECTIONS,
        progress: 'requestsPerSecond',
        check,
        measure: async (daemon, contender, connections, round) => {
          const before = { cpu: daemon.cpu(), statements: await server.statements() };
          const load = await putLoad(bench, postOf(daemon, CLIENT), connections, seconds);
          const statements = (await server.statements()) - before.statements;
          const { requestsPerSecond, requests } = load;
          const cpuPerThousand = ((daemon.cpu() - before.cpu) * 1e6) / requests;
          if (contender.name === 'lowdb') return { requestsPerSecond, cpuPerThousand };
          if (connections === 1 && round > 0) {
            slow.add(await statementsAtRest(server, daemon, seconds));
            const last = slow.values('statementsPerSecond').at(-1);
            bench.log(`  slowly: ${fixed(last, 0)} statements a second`);
          }
          const statementsPerSecond = statements / seconds;
          const statementsPerThousand = (statementsPerSecond * 1000) / requestsPerSecond;
          const own = { statementsPerSecond, statementsPerThousand };
          return { requestsPerSecond, cpuPerThousand, ...own };
        },
      });
      const own = named(standings, 'postgres')!;
      const lowdb = named(standings, 'lowdb')!;
      const ratios = (load: number) => own.over(lowdb, 'requestsPerSecond', load);
      const rests = slow.values('statementsPerSecond');
      const growth = own
        .values('statementsPerSecond', 64)
        .flatMap((statements, round) => statements / rests[round]!);
      const table = tableOf(
        standings.flatMap((standing) => atLoads([standing], CONNECTIONS)),
        [
          ['store', ({ standing }) => standing.name],
          ['load', ({ load }) => `${load} at once`],
          [
            'requests/s',
            ({ standing, load }) => fixed(standing.median('requestsPerSecond', load), 0),
          ],
          ['÷ lowdb', ({ standing, load }) => (standing === own ? spread(ratios(load)) : '')],
          [
            'CPU ms per 1000',
            ({ standing, load }) => fixed(standing.median('cpuPerThousand', load), 1),
          ],
          [
            'statements/s',
            ({ standing, load }) => fixed(standing.median('statementsPerSecond', load), 0),
          ],
          [
            'statements per 1000',
            ({ standing, load }) => fixed(standing.median('statementsPerThousand', load), 1),
          ],
        ],
      );
      const rate = spread(slow.values('requestsPerSecond'), 0);
      const atRest = ['postgres', 'one each 20 ms', rate, '', '', spread(rests, 0), ''];
      return {
        text:
          'One daemon with either store, the same upstream. A statement on the path of a request would make a thousand ' +
          'for a thousand requests; those that remain fold charges and keep the node alive, and depend on time alone.',
        headings: table.headings,
        rows: [...table.rows, atRest],
        goals: [
          goalOf(TEXT_GOAL, ratios(64), 0.95),
          goalOf(
            'statements per 1000 requests at 64 ≤ 250',
            own.values('statementsPerThousand', 64),
            250,
            0,
          ),
          goalOf('statements/s at 64 ≤ 1.50 × one request each 20 ms', growth, 1.5),
        ],
        ...outcomeOf('text', standings),
      };
    }),
};

const SCALE_GOAL = 'CPU of a request ≤ 1.10 × one daemon';

/** CPU of text requests on this machine by one, two and three daemons over one database. */
export const scale: Case = {
  title: 'scale: text requests over several daemons',
  goal: SCALE_GOAL,
  program: nginx,
  work: (bench, server) =>
    withUpstream(bench, async (field) => {
      const { settings, log } = bench;
      const seconds = secondsOf(bench);
      const engine = engineOf(server, 'scale');
      const sizes = [1, 2, 3];
      const names = sizes.map((number) => `node-${number}`);
      /** By the number of daemons. */
      const series = new Series<'rate' | 'cpu' | 'withServer'>('oriel');
      const measure = async (daemons: readonly Server[]) => {
        for (const daemon of daemons) await check(daemon, { ...field.oriel(), ...CLIENT });
        const putAll = () =>
          Promise.all(
            daemons.map((daemon, index) => {
              const own = { ...bench, folder: join(bench.folder, `load-${index}`) };
              return putLoad(own, postOf(daemon, CLIENT), 48 / daemons.length, seconds);
            }),
          );
        // A new process takes several times the CPU until V8 has compiled its code.
        for (let run = 0; run < daemons.length; run += 1) await putAll();
        const cpuOfAll = () => daemons.reduce((sum, daemon) => sum + daemon.cpu(), 0);
        const before = { own: cpuOfAll(), server: server.cpu() };
        const loads = await putAll();
        const requests = loads.reduce((sum, load) => sum + load.requests, 0);
        const spent = cpuOfAll() - before.own;
        const cpu = (spent * 1e6) / requests;
        const withServer = ((spent + server.cpu() - before.server) * 1e6) / requests;
        series.add({ rate: requests / seconds, cpu, withServer }, daemons.length);
        log(`  ${daemons.length}: CPU ${fixed(cpu, 0)} ms per 1000`);
      };
      for (let round = 0; round < Math.ceil(settings.rounds * 0.4); round += 1) {
        for (const nodes of sizes) {
          await server.sql('DROP SCHEMA IF EXISTS scale CASCADE');
          for (const name of names) emptyFolder(bench, name);
          const daemons: Server[] = [];
          try {
            // The first one makes the accounts.
            daemons.push(await field.oriel(names[0]!, engine).start());
            for (const name of names.slice(1, nodes)) daemons.push(await field.join(name, engine));
            await measure(daemons);
          } finally {
            for (const daemon of daemons) await daemon.stop();
          }
        }
      }
      const ratiosOf = (figure: 'cpu' | 'withServer', nodes: number) =>
        series.values(figure, nodes).map((one, round) => one / series.values(figure)[round]!);
      return {
        text: `48 connections in all for ${seconds} s, divided among new daemons over one schema on the same cores.`,
        ...tableOf(sizes, [
          ['daemons', (nodes) => `${nodes}`],
          ['requests/s', (nodes) => spread(series.values('rate', nodes), 0)],
          ['CPU ms per 1000', (nodes) => spread(series.values('cpu', nodes), 0)],
          ['÷ one', (nodes) => spread(ratiosOf('cpu', nodes))],
          ['with the CPU of PostgreSQL', (nodes) => spread(series.values('withServer', nodes), 0)],
          ['÷ one', (nodes) => spread(ratiosOf('withServer', nodes))],
        ]),
        goals: [2, 3].map((nodes) =>
          goalOf(`${nodes} daemons: ${SCALE_GOAL}`, ratiosOf('cpu', nodes), 1.1),
        ),
        raw: series.rounds,
      };
    }),
};
