import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, Trial } from '../cases.ts';
import type { Server } from '../daemon/server.ts';
import { goalOf, spread } from '../daemon/trial.ts';
import { contest, faultsOf, noteOf, type Standing, standingNamed } from './contest.ts';
import { type Contender, Field, startStreamUpstream } from './field.ts';
import { StreamClient } from './stream-client.ts';
import { contendersOf } from './streams.ts';

const READERS = 8;
/** Bytes that each reader reads every 50 ms. */
const SIP = 2048;
const GOAL = 32;

type Figure = 'grown';

/** Memory of a server for clients that read an endless stream slowly. */
export async function slowReader(bench: Bench): Promise<Trial> {
  const { settings } = bench;
  const seconds = settings.quick ? 2 : 5;
  const upstream = await startStreamUpstream(bench);
  let standings: Standing<Figure>[];
  try {
    standings = await contest<Figure>(bench, {
      contenders: contendersOf(settings, new Field(bench, upstream)),
      loads: [READERS],
      rounds: settings.rounds,
      progress: 'grown',
      check: warm,
      measure: async (server, contender) => {
        server.forgetPeak();
        const before = server.peak();
        await readSlowly(server, contender, seconds);
        return { grown: Math.max(0, server.peak() - before) / 1e6 };
      },
    });
  } finally {
    await upstream.stop();
  }
  const grown = (name: string) =>
    (standingNamed(standings, name)?.rounds.get(READERS) ?? []).flatMap(
      (figures) => figures?.grown ?? [],
    );
  return {
    section: {
      title: 'slow-reader: memory',
      text:
        `What resident memory grows by at its peak while ${READERS} clients take ` +
        `${SIP * 20} bytes a second of streams without end, for ${seconds} s.`,
      table: {
        headings: ['contender', 'grown by MB', 'ran with'],
        rows: standings.map((standing) => [
          standing.contender.name,
          spread(grown(standing.contender.name), 0),
          noteOf(standing),
        ]),
      },
    },
    goals: ['oriel', 'oriel-messages-chat', 'oriel-chat-responses'].map((name) =>
      goalOf('slow-reader', `${name}: grown by ≤ ${GOAL} MB`, grown(name), GOAL, 'lower', 0),
    ),
    faults: faultsOf('slow-reader', standings),
    raw: standings.map(({ contender, rounds }) => ({ name: contender.name, rounds: [...rounds] })),
  };
}

/** Warms a contender up, because its first requests allocate memory that it keeps. */
async function warm(server: Server, contender: Contender): Promise<void> {
  const client = new StreamClient(server, contender);
  try {
    await client.check();
    for (let time = 0; time < 10; time += 1) {
      await Promise.all(Array.from({ length: READERS }, () => client.stream('flat')));
    }
  } finally {
    await client.close();
  }
}

/** @throws if a reader gets nothing, or the stream ends: then no backpressure was measured */
async function readSlowly(server: Server, contender: Contender, seconds: number): Promise<void> {
  const readers = await Promise.all(
    Array.from({ length: READERS }, () => beginReading(server, contender)),
  );
  try {
    const taken = readers.map(() => 0);
    const end = performance.now() + seconds * 1000;
    while (performance.now() < end) {
      for (const [at, { response }] of readers.entries()) {
        taken[at]! += (response.read(SIP) as Buffer | null)?.length ?? 0;
      }
      await sleep(50);
    }
    if (taken.includes(0) || readers.some(({ response }) => response.readableEnded)) {
      throw new Error(`streams without end gave ${taken.join(', ')} bytes`);
    }
  } finally {
    for (const reader of readers) reader.request.destroy();
  }
}

interface Reader {
  readonly request: ClientRequest;
  readonly response: IncomingMessage;
}

function beginReading({ url }: Server, { format, headers }: Contender): Promise<Reader> {
  return new Promise((resolve, reject) => {
    const sent = request(url + format.path, {
      method: 'POST',
      agent: false,
      headers: { 'content-type': 'application/json', ...headers },
    });
    sent.on('error', reject);
    sent.once('response', (response) => {
      // The request is destroyed at the end, which is not an error.
      response.on('error', () => {});
      // Paused mode: it fills its buffer and waits.
      response.on('readable', () => {});
      resolve({ request: sent, response });
    });
    sent.end(JSON.stringify(format.request('large', true)));
  });
}
