import * as v from 'valibot';
import { DEFAULT_LIMITS } from '../images/limits.ts';
import type { DeepReadonly } from '../schema/deep-readonly.ts';
import { field, integer } from '../schema/fields.ts';
import { IMAGE_ANSWERS } from '../store/account.ts';
import { assets } from './assets.ts';
import { cors } from './cors.ts';
import { limits } from './limits.ts';
import { models } from './models.ts';
import { isRange, network } from './network.ts';
import { providerSchema } from './provider-kinds.ts';
import { telemetry } from './telemetry.ts';
import { httpUrl, identifier, text } from './text.ts';
import { credits, duration, size } from './units.ts';

/** A setting that the daemon reads only at start; it reads all others again on SIGHUP. */
const ONCE = { restart: true } as const;

const range = v.pipe(
  v.string(),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed || isRange(dataset.value)) return;
    addIssue({ message: 'expected an IP address or a CIDR range such as 10.0.0.0/8' });
  }),
);

/** The text of an environment variable for a boolean in a union, which is not converted by its type. */
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
    field(
      httpUrl(),
      'How clients reach this server, in the URLs of files. Unset: the address where it listens.',
      { example: 'https://oriel.example.com' },
    ),
  ),
  trustProxy: v.optional(
    field(
      v.union([v.boolean(), booleanText, v.array(range)]),
      'Proxies in front that may name the client by X-Forwarded-For: false for none, true for any peer, or ' +
        'a list such as [127.0.0.1, 10.0.0.0/8].',
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
    field(
      duration('1s'),
      'How long a client may read nothing of its response before its connection is closed.',
      ONCE,
    ),
    '60s',
  ),
  bodyLimit: v.optional(field(size('1KB', '1GB'), 'The largest JSON body.', ONCE), '10MB'),
  maxConnections: v.optional(
    field(
      integer(1, 1_000_000),
      'Connections at once; further ones are closed. Unset: 10,000, or what the limit of open ' +
        'descriptors allows.',
      { ...ONCE, example: 10_000 },
    ),
  ),
  cors: v.optional(
    field(
      cors,
      'Web pages that may use this server from other origins. Unset: browsers let pages of its own origin ' +
        'use it, and no others.',
    ),
  ),
  console: v.optional(
    field(
      v.boolean(),
      'Whether /console is served, the pages for people, who sign in with an API key. Without it no cookie ' +
        'is accepted either.',
      ONCE,
    ),
    true,
  ),
  operations: v.optional(
    field(
      v.strictObject({
        host: v.optional(field(text(), 'Address to listen on.', ONCE), '127.0.0.1'),
        port: field(integer(0, 65_535), 'Port to listen on; 0 for any free one.', {
          ...ONCE,
          example: 8788,
        }),
      }),
      'A listener for /metrics and /openapi.json, which the public one then does not serve; health is on both.',
    ),
  ),
});

const pool = v.strictObject({
  threads: v.optional(
    field(integer(1, 256), 'Images processed at once. Unset: as many as the machine has cores.', {
      ...ONCE,
      example: 4,
    }),
  ),
  memory: v.optional(
    field(
      size('64MB', '1000TB'),
      'Memory of all large images in progress, by estimates that are enforced on Linux; an image that needs ' +
        'more by itself is refused. Unset: half of what the container or machine has beyond 512 MB, at ' +
        'least 256 MB.',
      { ...ONCE, example: '2GB' },
    ),
  ),
});

const routing = v.strictObject({
  retries: v.optional(
    field(integer(0, 10), 'Retries of one route before the next one is tried; 0 for none.'),
    2,
  ),
  cooldown: v.nullish(
    field(
      v.strictObject({
        after: v.optional(
          field(integer(0, 1000), 'Failures in a row after which a route is skipped; 0 for never.'),
          5,
        ),
        for: v.optional(field(duration('1ms'), 'How long it is skipped.'), '30s'),
      }),
      'A route that keeps failing is skipped for a while, and then tried again.',
    ),
    {},
  ),
  affinity: v.nullish(
    field(
      v.strictObject({
        for: v.optional(
          field(
            duration('0s'),
            'How long after its last answer, as long as providers may cache it; 0s for never.',
          ),
          '1h',
        ),
        conversations: v.optional(
          field(integer(0, 1_000_000), 'Conversations that are remembered, of all accounts.'),
          10_000,
        ),
      }),
      'A text conversation that another route than the first answered stays with that route, which has it ' +
        'in its cache, until it fails or is skipped. A conversation is what has one prompt_cache_key, one ' +
        'metadata.user_id with a session, or the same instructions, tools and first turn, of one key.',
    ),
    {},
  ),
  timeouts: v.nullish(
    field(
      v.strictObject({
        connect: v.optional(field(duration('1ms'), 'Until a connection is open.'), '5s'),
        firstByte: v.optional(
          field(duration('1ms'), 'Until a streamed response begins; others have until `total`.'),
          '120s',
        ),
        idle: v.optional(field(duration('1ms'), 'Between two chunks of a response.'), '120s'),
        total: v.optional(field(duration('1ms'), 'For the whole request.'), '10m'),
      }),
      'Timeouts of requests to providers.',
    ),
    {},
  ),
  afterCrash: v.optional(
    field(
      v.picklist(['retry', 'fail']),
      'A media task whose request to a provider was in progress when the server stopped (a crash, or a stop ' +
        'that outlasted server.grace), if the provider knows no idempotency keys and may charge again: ' +
        'retry sends the request again, fail ends the task as billable_error.',
    ),
    'retry',
  ),
});

const answers = v.strictObject({
  model: v.optional(
    field(
      v.picklist(['public', 'upstream']),
      'The model that responses name: the public identifier, or the name that the provider uses (upstream).',
    ),
    'public',
  ),
  images: v.optional(
    field(
      v.picklist(IMAGE_ANSWERS),
      'What image requests without response_format get: the task at once, as this interface has it, or the ' +
        "images in OpenAI's shape, as url or b64_json. Keys can differ (oriel keys create --images).",
    ),
    'task',
  ),
});

const billing = v.strictObject({
  trustUpstream: v.optional(
    field(
      v.boolean(),
      'Whether reported usage beyond the limits of the request is charged. Otherwise the excess is not ' +
        "charged, and is logged with the request's id.",
    ),
    false,
  ),
  maxOutputTokens: v.optional(
    field(
      integer(1),
      'Output limit sent to the provider for a model that has a price and no maxOutputTokens, if the client ' +
        'sets none.',
    ),
    16_384,
  ),
});

const callbacks = v.strictObject({
  secretOverlap: v.optional(
    field(
      duration('0s', '365d'),
      'How long callbacks are also signed with the former secret after a rotation.',
    ),
    '24h',
  ),
});

const batch = v.strictObject({
  concurrency: v.optional(field(integer(1, 10_000), 'Batches processed at once.', ONCE), 16),
  queue: v.optional(
    field(
      integer(0, 100_000),
      'Batches that wait beyond those, of one account about a third; further ones get 503.',
      ONCE,
    ),
    64,
  ),
  memory: v.optional(
    field(
      size('1MB', '1TB'),
      'Finished results that wait in memory to be sent, of all batches together.',
      ONCE,
    ),
    '256MB',
  ),
  spool: v.optional(
    field(size('100MB', '1000TB'), 'Uploads kept on disk at once, of all batches together.', ONCE),
    '2GB',
  ),
  deadline: v.optional(
    field(duration('1ms', '24h'), 'How long one image may take.'),
    `${DEFAULT_LIMITS.deadline / 1000}s`,
  ),
  pixels: v.optional(
    field(
      integer(1, 10_000_000_000),
      'Pixels of one image, of all frames that are decoded together.',
    ),
    DEFAULT_LIMITS.pixels,
  ),
  frames: v.optional(
    field(integer(1, 100_000), 'Frames of one image, if all of them are decoded.'),
    DEFAULT_LIMITS.frames,
  ),
  side: v.optional(
    field(integer(1, 65_535), 'Pixels along one side of an output.'),
    DEFAULT_LIMITS.side,
  ),
  svg: v.optional(
    field(
      v.boolean(),
      'Whether SVG is read. It is markup, so that a small file can take much work.',
    ),
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
    field(duration('10ms', '1h'), 'Delay of the event loop above which requests get 503.', ONCE),
    '1s',
  ),
  memory: v.optional(
    field(
      size('64MB', '1000TB'),
      "Memory of the process above which requests get 503. Unset: 85% of the container's or machine's.",
      { ...ONCE, example: '2GB' },
    ),
  ),
});

const log = v.strictObject({
  level: v.optional(
    field(
      v.picklist(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
      'The lowest level of messages to write: fatal, error, warn, info, debug, trace, or silent for none.',
      ONCE,
    ),
    'info',
  ),
  format: v.optional(
    field(
      v.picklist(['auto', 'pretty', 'json']),
      'Format of the messages: pretty, json, or auto, which is pretty on a terminal and json elsewhere.',
      ONCE,
    ),
    'auto',
  ),
});

const metrics = v.strictObject({
  enabled: v.optional(field(v.boolean(), 'Whether /metrics is served.', ONCE), true),
  token: v.optional(
    field(
      text(),
      'The bearer token that /metrics requires. Unset: only the listener server.operations serves it.',
      { secret: 'always', example: `\${METRICS_TOKEN}` },
    ),
  ),
});

const owner = v.strictObject({
  credits: v.optional(field(credits(), 'Credits of the account.'), 1000),
});

/** The whole configuration: its input is a file, its output the loaded settings. */
export const configSchema = v.strictObject({
  server: v.nullish(field(server, 'The listener for clients.'), {}),
  dataDir: v.optional(
    field(
      text(),
      'Where accounts, keys, tasks and files are kept; relative to the file that sets it.',
      ONCE,
    ),
    './data',
  ),
  assets: v.nullish(field(assets, 'The storage of files that tasks make and clients upload.'), {}),
  pool: v.nullish(field(pool, 'The processes and threads that process images.'), {}),
  routing: v.nullish(
    field(routing, 'How routes are tried if a model has several, or one that fails.'),
    {},
  ),
  answers: v.nullish(field(answers, 'The form of responses.'), {}),
  billing: v.nullish(
    field(
      billing,
      'Charges of text requests. A request holds the largest sum that it can cost until it ends: its size ' +
        'in bytes as tokens of input, and n times its output limit.',
    ),
    {},
  ),
  network: v.nullish(field(network, 'Where the server may connect to for a client.'), {}),
  callbacks: v.nullish(field(callbacks, 'Notifications of clients about ended tasks.'), {}),
  limits: v.nullish(field(limits, 'Limits of accounts, and how long things take.'), {}),
  batch: v.nullish(
    field(batch, 'Batches of images. Each file may have 30 MB, each request 100 MB and 20 files.'),
    {},
  ),
  overload: v.nullish(
    field(
      overload,
      'When new requests are refused so that those in progress can finish. As memory or time runs short, ' +
        'the server refuses, in this order, new connections; large bodies; requests of the account that ' +
        'has most in progress (429); requests of all accounts (503). /healthz, /readyz and /metrics always ' +
        "answer. V8's heap limit (node --max-old-space-size) counts as well as the memory of the process.",
    ),
    {},
  ),
  log: v.nullish(field(log, 'The log. Keys never appear in it.'), {}),
  metrics: v.nullish(field(metrics, 'Metrics for Prometheus, at /metrics.'), {}),
  telemetry: v.nullish(field(telemetry, 'Traces and metrics for a collector.'), {}),
  owner: v.nullish(
    field(owner, 'The account that the first start on an empty data folder creates.'),
    {},
  ),
  providers: v.nullish(
    field(
      v.record(identifier(), providerSchema),
      'Providers of models, by a name of your choice. Without providers and models of your own, a sandbox ' +
        'replaces both: models that make up their answers, and that need no account anywhere.',
    ),
    {},
  ),
  models: v.nullish(
    field(
      models,
      'Models for clients, by public identifier. Prices are credits; a model without a price is free. An ' +
        'identifier such as claude-* offers all names that match it, the longest match ' +
        'first, after the models and aliases that have the very name.',
    ),
    {},
  ),
});

/** The loaded settings: durations in milliseconds, sizes in bytes, credits in whole micro-credits. */
export type Config = DeepReadonly<v.InferOutput<typeof configSchema>>;
export type Provider = Config['providers'][string];
export type Model = Config['models'][string];
