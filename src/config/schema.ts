import * as v from 'valibot';
import { DEFAULT_LIMITS } from '../images/limits.ts';
import { field, integer } from '../schema/fields.ts';
import { models } from './models.ts';
import { isRange, network } from './network.ts';
import { providerSchema } from './provider-kinds.ts';
import { httpUrl, identifier, text } from './text.ts';
import { credits, duration, size } from './units.ts';

/** What is read once, when the daemon starts; everything else a SIGHUP reloads. */
const ONCE = { restart: true } as const;

const range = v.pipe(
  v.string(),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed || isRange(dataset.value)) return;
    addIssue({ message: 'expected an IP address or a CIDR range such as 10.0.0.0/8' });
  }),
);

/** What an environment variable makes of a switch, where a list may stand as well. */
const booleanText = v.pipe(
  v.picklist(['true', 'false']),
  v.transform((value) => value === 'true'),
);

const server = v.strictObject({
  host: v.optional(
    field(text(), 'Address to listen on; 0.0.0.0 for all of them.', ONCE),
    '127.0.0.1',
  ),
  port: v.optional(field(integer(0, 65_535), 'Port to listen on; 0 for any free one.', ONCE), 8787),
  publicUrl: v.optional(
    field(httpUrl(), 'How clients reach this server, in asset URLs; by default where it listens.'),
  ),
  trustProxy: v.optional(
    field(
      v.union([v.boolean(), booleanText, v.array(range)]),
      'Whether a proxy in front may name the client by X-Forwarded-For: true, or its addresses.',
      { ...ONCE, expects: 'true, false or a list of IP addresses and CIDR ranges' },
    ),
    false,
  ),
  grace: v.optional(
    field(duration('0s'), 'How long open requests may take to finish when the server stops.'),
    '30s',
  ),
  requestTimeout: v.optional(
    field(duration('1s'), 'How long a client may take to send its whole request.', ONCE),
    '5m',
  ),
  sendTimeout: v.optional(
    field(duration('1s'), 'How long a client may read nothing of its response.', ONCE),
    '60s',
  ),
  bodyLimit: v.optional(field(size('1KB', '1GB'), 'The largest JSON body.', ONCE), '10MB'),
  maxConnections: v.optional(
    field(
      integer(1, 1_000_000),
      'Connections at once, further ones are closed; unset: 10,000, or what descriptors allow.',
      ONCE,
    ),
  ),
  operations: v.optional(
    field(
      v.strictObject({
        host: v.optional(field(text(), 'Address to listen on.', ONCE), '127.0.0.1'),
        port: field(integer(0, 65_535), 'Port to listen on; 0 for any free one.', ONCE),
      }),
      'A listener for /metrics, /docs and /openapi.json, which the public one then does not serve.',
    ),
  ),
});

const pool = v.strictObject({
  threads: v.optional(
    field(integer(1, 256), 'Images worked on at once; by default as many as cores.', ONCE),
  ),
  memory: v.optional(
    field(
      size('64MB', '1000TB'),
      'What large images under way may need together; unset: half of what the machine can spare.',
      ONCE,
    ),
  ),
});

const routing = v.strictObject({
  retries: v.optional(
    field(integer(0, 10), 'Further tries of one route before the next one is tried; 0 for none.'),
    2,
  ),
  cooldown: v.nullish(
    field(
      v.strictObject({
        after: v.optional(
          field(integer(0, 1000), 'Failures in a row that make a route rest; 0 for never.'),
          5,
        ),
        for: v.optional(field(duration('1ms'), 'How long it rests.'), '30s'),
      }),
      'When a route that keeps failing is left alone.',
    ),
    {},
  ),
  timeouts: v.nullish(
    field(
      v.strictObject({
        connect: v.optional(field(duration('1ms'), 'To connect to a provider.'), '5s'),
        firstByte: v.optional(
          field(duration('1ms'), 'Until a streamed answer begins; others have until `total`.'),
          '120s',
        ),
        idle: v.optional(field(duration('1ms'), 'Between two pieces of its answer.'), '120s'),
        total: v.optional(field(duration('1ms'), 'For the whole of it.'), '10m'),
      }),
      'How long a provider may take.',
    ),
    {},
  ),
  afterCrash: v.optional(
    field(
      v.picklist(['retry', 'fail']),
      'What becomes of a media task whose provider was being asked when the server stopped: it is asked again, and may charge twice, or the task fails.',
    ),
    'retry',
  ),
});

const answers = v.strictObject({
  model: v.optional(
    field(
      v.picklist(['public', 'upstream']),
      'The model that answers name: the public identifier, or what the provider calls it.',
    ),
    'public',
  ),
});

const billing = v.strictObject({
  trustUpstream: v.optional(
    field(
      v.boolean(),
      'Whether usage that a provider reports is charged even where it exceeds what the request allowed.',
    ),
    false,
  ),
  maxOutputTokens: v.optional(
    field(
      integer(1),
      'Limit sent to the provider where neither the client nor a priced text model sets one.',
    ),
    16_384,
  ),
});

const callbacks = v.strictObject({
  secretOverlap: v.optional(
    field(
      duration('0s', '365d'),
      'How long callbacks are signed with the secret before as well, after it was rotated.',
    ),
    '24h',
  ),
});

interface PlanDefaults {
  readonly rpm: number;
  readonly tasks: number;
  readonly uploads: string;
  readonly history: number;
  readonly historySize: string;
}

const plan = ({ rpm, tasks, uploads, history, historySize }: PlanDefaults, description: string) =>
  v.nullish(
    field(
      v.strictObject({
        rpm: v.optional(field(integer(1, 1_000_000), 'Requests a minute of one key.'), rpm),
        tasks: v.optional(
          field(integer(1, 10_000_000), 'Tasks of one account that have not ended.'),
          tasks,
        ),
        uploads: v.optional(
          field(
            size('1MB', '1000TB'),
            'Uploaded images that one account may keep, with the inputs of its open tasks.',
          ),
          uploads,
        ),
        history: v.optional(
          field(
            integer(1, 100_000_000),
            'Ended tasks of one account that are kept; beyond, the oldest go first.',
          ),
          history,
        ),
        historySize: v.optional(
          field(
            size('1MB', '1000TB'),
            'Bytes of their records and results that are kept; beyond, the oldest go first.',
          ),
          historySize,
        ),
      }),
      description,
    ),
    {},
  );

const limits = v.strictObject({
  free: plan(
    { rpm: 20, tasks: 100, uploads: '1GB', history: 10_000, historySize: '5GB' },
    'Free accounts and their keys.',
  ),
  paid: plan(
    { rpm: 600, tasks: 10_000, uploads: '10GB', history: 1_000_000, historySize: '100GB' },
    'Paid accounts and their keys.',
  ),
  address: v.nullish(
    field(
      v.strictObject({
        connections: v.optional(
          field(
            integer(1, 1_000_000),
            'Open connections; unset: a quarter of all for a public address, any for a private one.',
            ONCE,
          ),
        ),
        failedKeys: v.optional(
          field(
            integer(1, 1_000_000),
            'Requests a minute with an invalid key; further ones get 429, and good keys still pass.',
          ),
          120,
        ),
      }),
      'One client address, an IPv6 address by its /64, before its key is known.',
    ),
    {},
  ),
  syncWait: v.optional(
    field(duration('0s', '1h'), 'How long a synchronous image request waits for its result.'),
    '60s',
  ),
  taskDeadline: v.optional(
    field(duration('1s'), 'When a task that has not finished expires.'),
    '15m',
  ),
  retention: v.optional(
    field(duration('1m', '3650d'), 'How long finished tasks, their files, and uploads are kept.'),
    '7d',
  ),
  ledger: v.optional(
    field(duration('1d', '3650d'), 'How long the lines of a ledger are kept one by one.'),
    '365d',
  ),
  ledgerLines: v.optional(
    field(
      integer(1000, 10_000_000),
      "Lines of one account's ledger that are kept one by one, in memory.",
    ),
    30_000,
  ),
});

const batch = v.strictObject({
  concurrency: v.optional(field(integer(1, 10_000), 'Batches worked on at once.', ONCE), 16),
  queue: v.optional(
    field(integer(0, 100_000), 'Batches that wait beyond those; more are answered 503.', ONCE),
    64,
  ),
  memory: v.optional(
    field(size('1MB', '1TB'), 'Finished results that wait in memory to be sent.', ONCE),
    '256MB',
  ),
  spool: v.optional(field(size('100MB', '1000TB'), 'Uploads kept on disk at once.', ONCE), '2GB'),
  deadline: v.optional(
    field(duration('1ms', '24h'), 'How long one image may take.'),
    `${DEFAULT_LIMITS.deadline / 1000}s`,
  ),
  pixels: v.optional(
    field(
      integer(1, 10_000_000_000),
      'Pixels of one image, all the frames that are decoded together.',
    ),
    DEFAULT_LIMITS.pixels,
  ),
  frames: v.optional(
    field(integer(1, 100_000), 'Frames of one image, where all of them are decoded.'),
    DEFAULT_LIMITS.frames,
  ),
  side: v.optional(
    field(integer(1, 65_535), 'Pixels along one side of an output.'),
    DEFAULT_LIMITS.side,
  ),
  svg: v.optional(
    field(v.boolean(), 'Whether SVG is read, which is markup that draws.'),
    DEFAULT_LIMITS.svg,
  ),
});

const overload = v.strictObject({
  bodies: v.optional(
    field(
      size('1MB', '1TB'),
      'JSON bodies in memory at once; one account may have a quarter of it.',
      ONCE,
    ),
    '256MB',
  ),
  eventLoopDelay: v.optional(
    field(duration('10ms', '1h'), 'Delay of the main thread beyond which requests get 503.', ONCE),
    '1s',
  ),
  memory: v.optional(
    field(
      size('64MB', '1000TB'),
      "Memory of the process beyond which they do; unset: 85% of the container's or machine's.",
      ONCE,
    ),
  ),
});

const log = v.strictObject({
  level: v.optional(
    field(
      v.picklist(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
      'The least important messages to write.',
      ONCE,
    ),
    'info',
  ),
  format: v.optional(
    field(
      v.picklist(['auto', 'pretty', 'json']),
      'How they look: auto is pretty on a terminal, else json.',
      ONCE,
    ),
    'auto',
  ),
});

const metrics = v.strictObject({
  enabled: v.optional(field(v.boolean(), 'Whether /metrics answers.', ONCE), true),
  token: v.optional(
    field(
      text(),
      'The bearer token that /metrics asks for; unset: only server.operations has it.',
      {
        secret: 'always',
      },
    ),
  ),
});

const owner = v.strictObject({
  credits: v.optional(
    field(credits(), 'Credits of the account that the first start creates.'),
    1000,
  ),
});

/** The whole configuration, as a file gives it and as it is loaded. */
export const configSchema = v.strictObject({
  server: v.nullish(field(server, 'Where clients connect.'), {}),
  dataDir: v.optional(
    field(text(), 'Where everything is kept; relative to the file that says so.', ONCE),
    './data',
  ),
  pool: v.nullish(field(pool, 'The processes and threads that work on images.'), {}),
  routing: v.nullish(field(routing, 'How providers are tried.'), {}),
  answers: v.nullish(field(answers, 'What text answers tell of their origin.'), {}),
  billing: v.nullish(field(billing, 'What requests for text are charged.'), {}),
  network: v.nullish(field(network, 'Where the server may connect to.'), {}),
  callbacks: v.nullish(field(callbacks, 'How clients are told that a task has ended.'), {}),
  limits: v.nullish(field(limits, 'What accounts may do, and how long things take.'), {}),
  batch: v.nullish(field(batch, 'Batch image work.'), {}),
  overload: v.nullish(field(overload, 'When new requests are turned away.'), {}),
  log: v.nullish(field(log, 'What the server writes down.'), {}),
  metrics: v.nullish(field(metrics, 'Figures for Prometheus.'), {}),
  owner: v.nullish(field(owner, 'The first account.'), {}),
  providers: v.nullish(
    field(v.record(identifier(), providerSchema), 'Who answers, by a name of your choice.'),
    {},
  ),
  models: v.nullish(field(models, 'What clients may ask for, by its public identifier.'), {}),
});

type DeepReadonly<Value> = Value extends object
  ? { readonly [Key in keyof Value]: DeepReadonly<Value[Key]> }
  : Value;

/** Durations are milliseconds, sizes bytes, sums of credits whole micro-credits. */
export type Config = DeepReadonly<v.InferOutput<typeof configSchema>>;
export type Provider = Config['providers'][string];
export type Model = Config['models'][string];
