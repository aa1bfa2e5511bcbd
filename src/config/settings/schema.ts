import * as v from 'valibot';
import { DEFAULT_LIMITS } from '../../images/limits.ts';
import { field, integer } from '../../schema/fields.ts';
import type { DeepReadonly } from '../../schema/json.ts';
import { IMAGE_ANSWERS } from '../../store/account.ts';
import { identifier, ONCE, text } from '../fields/text.ts';
import { credits, duration, size } from '../fields/units.ts';
import { providerSchema } from '../providers/provider-kinds.ts';
import { assets } from './assets.ts';
import { limits } from './limits.ts';
import { models } from './models.ts';
import { network } from './network.ts';
import { routing } from './routing.ts';
import { server } from './server.ts';
import { store } from './store.ts';
import { telemetry } from './telemetry.ts';

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
  drainTimeout: v.optional(
    field(
      duration('0s', '1h'),
      'How long an answer is read on after its client has left, or after an emulated end such as a stop sequence, ' +
        'since providers report the usage at its end. Without the report, reasoning and media are charged by their upper bound. 0s: abort at once.',
    ),
    '2m',
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
    field(
      duration('10ms', '1h'),
      "Delay of the event loop above which requests get 503. Only the daemon's own work counts, not a busy machine.",
      ONCE,
    ),
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
  store: v.nullish(field(store, 'The store of accounts, keys, credits and tasks.'), {}),
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
    field(
      batch,
      'Batches of images. Each file may have 30 MiB, each request 100 MiB and 20 files.',
    ),
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
