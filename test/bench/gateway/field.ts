import { join } from 'node:path';
import { Server } from '../daemon/server.ts';
import { KEYS, seed, wrk } from '../daemon/trial.ts';
import { freePort } from '../free-port.ts';
import { installPackages } from '../peers.ts';
import { type Bench, type Log, missing, type Settings, scriptFile } from '../trial.ts';
import { chat, type Format, messages } from './formats.ts';
import { PACES } from './marks.ts';
import { nginx, startProxy } from './nginx.ts';

const PORTKEY = '@portkey-ai/gateway';

/** Peers from the registry, at exact versions so that the figures of two runs can be compared. */
export const packages: Readonly<Record<string, string>> = {
  [PORTKEY]: '1.15.2',
  // As Portkey's own lock file has them; with newer ones it answers streams with 500
  // (Portkey-AI/gateway#1389).
  '@hono/node-server': '1.13.5',
  '@hono/node-ws': '1.2.0',
  ...(wrk.file === undefined ? { autocannon: '8.0.0' } : {}),
};

/** A gateway before the upstream, or the upstream itself. */
export interface Contender {
  readonly name: string;
  /** Role: `subject` and `limit` run in all rounds, peers in some. */
  readonly role: 'subject' | 'limit' | 'peer';
  /** Version, for the table. */
  readonly settings: string;
  /** Reason why it cannot run here. */
  readonly absent?: string | undefined;
  /** Format of its client. */
  readonly format: Format;
  readonly headers: Readonly<Record<string, string>>;
  start(): Promise<Server>;
}

/** Where Oriel keeps its records; by default in its data directory. */
export interface Engine {
  /** Module that opens the store. */
  readonly driver?: string;
  /** Settings for it. */
  readonly config?: object;
}

/** A price that every text model of the benchmarks has. */
export const PRICE = { input: 1.25, cachedInput: 0.125, output: 10 };

/** Contenders before one upstream. Each method starts a contender as a separate process. */
export class Field {
  readonly #bench: Bench;
  readonly #upstream: Server;

  constructor(bench: Bench, upstream: Server) {
    this.#bench = bench;
    this.#upstream = upstream;
  }

  #contender(
    name: string,
    role: Contender['role'],
    settings: string,
    start: (folder: string) => Promise<Server>,
    more: Partial<Pick<Contender, 'absent' | 'format' | 'headers'>> = {},
  ): Contender {
    const folder = join(this.#bench.folder, name);
    return { name, role, settings, format: chat, headers: {}, start: () => start(folder), ...more };
  }

  direct(): Contender {
    // The report has the added times beside it.
    return this.#contender('direct', 'limit', 'the upstream itself', async () => this.#upstream);
  }

  nginx(): Contender {
    const settings = 'proxy_pass, connections kept, one process';
    const start = (folder: string) => startProxy(folder, this.#upstream.url);
    return this.#contender('nginx', 'peer', settings, start, { absent: missing(nginx) });
  }

  /** One of the scripts in contenders/. */
  script(name: string, role: Contender['role'], settings: string): Contender {
    return this.#contender(name, role, settings, (folder) => {
      const file = scriptFile('gateway/contenders/gateway');
      return Server.start(folder, [file, name, this.#upstream.url], '/');
    });
  }

  portkey(): Contender {
    const start = async (folder: string) => {
      const { settings, log } = this.#bench;
      const packed = join(installPeers(settings, log), 'node_modules', PORTKEY);
      const port = await freePort();
      const args = [join(packed, 'build/start-server.js'), `--port=${port}`, '--headless'];
      const program = { folder, file: process.execPath, args };
      return Server.program(program, `http://127.0.0.1:${port}`, '/');
    };
    const headers = {
      authorization: 'Bearer bench',
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `${this.#upstream.url}/v1`,
    };
    return this.#contender('portkey', 'peer', `${PORTKEY} as it comes`, start, { headers });
  }

  /** Oriel as a user runs it: with keys, limits, log, metrics and a price. */
  oriel(name = 'oriel', engine: Engine = {}): Contender {
    return this.#oriel(name, chat, 'chat', 'chat client, chat upstream', engine);
  }

  orielTranslating(): Contender[] {
    return [
      this.#oriel('oriel-messages-chat', messages, 'chat', 'messages client, chat upstream'),
      this.#oriel('oriel-chat-responses', chat, 'responses', 'chat client, responses upstream'),
    ];
  }

  #oriel(
    name: string,
    format: Format,
    dialect: string,
    settings: string,
    { driver, config: more }: Engine = {},
  ): Contender {
    const headers = { authorization: `Bearer ${KEYS[0]}` };
    const start = async (folder: string) => {
      const { data } = await seed({ folder }, 'data', 0, driver);
      return Server.oriel(join(folder, 'daemon'), data, this.#config(dialect, more));
    };
    const described = `${settings}; key, limit, log, metrics, price`;
    return this.#contender(name, 'subject', described, start, { format, headers });
  }

  /** One more daemon on the store of another, which has the accounts already. */
  join(name: string, { config }: Engine): Promise<Server> {
    const folder = join(this.#bench.folder, name);
    return Server.oriel(join(folder, 'daemon'), join(folder, 'data'), this.#config('chat', config));
  }

  #config(dialect: string, more: object = {}): object {
    const baseUrl = `${this.#upstream.url}/v1`;
    const models = ['json', ...PACES].map((model) => {
      const routes = [{ provider: 'upstream', model, dialect }];
      return [model, { type: 'text', routes, price: PRICE }];
    });
    return {
      providers: { upstream: { kind: 'openai', baseUrl, apiKey: 'sk-bench' } },
      models: Object.fromEntries(models),
      ...more,
    };
  }
}

/** Installs missing peers. @returns their folder */
export function installPeers({ scratch }: Settings, log: Log): string {
  const folder = join(scratch, 'gateway-packages');
  installPackages(folder, packages, log);
  return folder;
}

/** Starts the upstream of all streams. */
export function startStreamUpstream({ folder }: Bench): Promise<Server> {
  return Server.start(join(folder, 'upstream'), [scriptFile('gateway/contenders/upstream')], '/');
}
