import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Bench } from '../cases.ts';
import { Server } from '../daemon/server.ts';
import { KEYS, seed, wrk } from '../daemon/trial.ts';
import { freePort } from '../free-port.ts';
import { installPackages } from '../peers.ts';
import type { Settings } from '../suite.ts';
import { chat } from './formats/chat.ts';
import type { Format } from './formats/format.ts';
import { messages } from './formats/messages.ts';
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

/** Where Oriel keeps its records; in its data directory where nothing is given. */
export interface Engine {
  /** Module that opens the store. */
  readonly driver?: string;
  /** Settings for it. */
  readonly config?: object;
}

/** Contenders before one upstream. Each method starts a contender as a separate process. */
export class Field {
  readonly #bench: Bench;
  readonly #upstream: Server;

  constructor(bench: Bench, upstream: Server) {
    this.#bench = bench;
    this.#upstream = upstream;
  }

  direct(): Contender {
    return {
      name: 'direct',
      // The report has the added settings beside it.
      role: 'limit',
      settings: 'the upstream itself',
      format: chat,
      headers: {},
      start: async () => this.#upstream,
    };
  }

  nginx(): Contender {
    return {
      name: 'nginx',
      role: 'peer',
      settings: 'proxy_pass, connections kept, one process',
      absent:
        nginx.file === undefined ? `not installed (apt-get install ${nginx.from})` : undefined,
      format: chat,
      headers: {},
      start: () => startProxy(this.#folder('nginx'), this.#upstream.url),
    };
  }

  /** One of the scripts in contenders/. */
  script(name: string, role: Contender['role'], settings: string): Contender {
    const file = script(name);
    return {
      name,
      role,
      settings,
      format: chat,
      headers: {},
      start: () => {
        const folder = this.#folder(name);
        return Server.start(folder, [file, this.#upstream.url, folder], '/');
      },
    };
  }

  portkey(): Contender {
    const { settings, log } = this.#bench;
    return {
      name: 'portkey',
      role: 'peer',
      settings: `${PORTKEY} as it comes`,
      format: chat,
      headers: {
        authorization: 'Bearer bench',
        'x-portkey-provider': 'openai',
        'x-portkey-custom-host': `${this.#upstream.url}/v1`,
      },
      start: async () => {
        const folder = installPeers(settings, log);
        const file = join(folder, 'node_modules', PORTKEY, 'build/start-server.js');
        const port = await freePort();
        const args = [file, `--port=${port}`, '--headless'];
        const program = { folder: this.#folder('portkey'), file: process.execPath, args };
        return Server.program(program, `http://127.0.0.1:${port}`, '/');
      },
    };
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
    return {
      name,
      role: 'subject',
      settings: `${settings}; key, limit, log, metrics, price`,
      format,
      headers: { authorization: `Bearer ${KEYS[0]}` },
      start: async () => {
        const folder = this.#folder(name);
        const { data } = await seed({ folder }, 'data', 0, driver);
        return Server.oriel(join(folder, 'daemon'), data, this.#config(dialect, more));
      },
    };
  }

  /** One more daemon on the store of another, which has the accounts already. */
  join(name: string, { config }: Engine): Promise<Server> {
    const folder = this.#folder(name);
    return Server.oriel(join(folder, 'daemon'), join(folder, 'data'), this.#config('chat', config));
  }

  #config(dialect: string, more: object = {}): object {
    const models = Object.fromEntries(
      ['json', ...PACES].map((model) => [
        model,
        {
          type: 'text',
          routes: [{ provider: 'upstream', model, dialect }],
          price: { input: 1.25, cachedInput: 0.125, output: 10 },
        },
      ]),
    );
    const baseUrl = `${this.#upstream.url}/v1`;
    return {
      providers: { upstream: { kind: 'openai', baseUrl, apiKey: 'sk-bench' } },
      models,
      ...more,
    };
  }

  #folder(name: string): string {
    return join(this.#bench.folder, name);
  }
}

/** Installs missing peers. @returns their folder */
export function installPeers({ scratch }: Settings, log: (line: string) => void): string {
  const folder = join(scratch, 'gateway-packages');
  installPackages(folder, packages, log);
  return folder;
}

/** Starts the upstream of all streams. */
export function startStreamUpstream({ folder }: Bench): Promise<Server> {
  return Server.start(join(folder, 'upstream'), [script('upstream')], '/');
}

/** The path of a script in contenders/. */
function script(name: string): string {
  return fileURLToPath(new URL(`contenders/${name}.js`, import.meta.url));
}
